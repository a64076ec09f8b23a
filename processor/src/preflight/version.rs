//! Whether this binary may serve the installed schema.

use super::Finding;
use crate::oneshot::{DatabaseError, Whereabouts};
use crate::schema::{PGRELAY, State, Version, oldest_processor};
use tokio_postgres::Client;

/// Judges what is installed.
pub(super) async fn judge(
    client: &Client,
    state: State,
    whereabouts: &Whereabouts,
) -> Result<Option<Finding>, DatabaseError> {
    let database = &whereabouts.database;
    let release = PGRELAY.version;
    let (version, _) = match state {
        State::Installed { version, extension } => (version, extension),
        State::Absent => {
            return Ok(Some(
                Finding::blocking(
                    "relay:schema",
                    format!("schema pgrelay is missing in database \"{database}\""),
                )
                .hint("run pg-relay-processor install"),
            ));
        }
        State::Foreign | State::Hidden => {
            return Ok(Some(
                Finding::blocking(
                    "relay:schema",
                    format!("schema pgrelay in database \"{database}\" does not say its version"),
                )
                .hint("rename or drop it after a look at what it holds, then run pg-relay-processor install"),
            ));
        }
    };
    if version == release {
        return Ok(None);
    }
    if version < release {
        return Ok(Some(
            Finding::blocking(
                "relay:version",
                format!("pgrelay {version} is installed, and this Processor needs {release}"),
            )
            .hint("run pg-relay-processor upgrade"),
        ));
    }
    let oldest = oldest_processor(client, &PGRELAY, version).await?;
    let ours = Version::OF_THIS_BINARY;
    Ok(Some(newer(version, oldest, ours)))
}

fn newer(version: Version, oldest: Version, ours: Version) -> Finding {
    if oldest > ours {
        Finding::blocking(
            "relay:version",
            format!(
                "pgrelay {version} is installed and needs pg-relay-processor {oldest} or later; this is {ours}"
            ),
        )
        .hint(format!("install pg-relay-processor {oldest} or later"))
    } else {
        Finding::warning(
            "relay:version",
            format!("pgrelay {version} is installed, which is newer than this Processor ({ours})"),
        )
        .hint("it may go on; bring every host to the newer release when you can")
    }
}

#[cfg(test)]
mod tests {
    use super::{Version, newer};
    use crate::preflight::Severity;

    #[test]
    fn a_newer_schema_blocks_only_when_it_says_so() {
        let parse = |text| Version::parse(text).unwrap();
        let verdict = |oldest| newer(parse("1.3"), parse(oldest), parse("1.1")).severity;
        assert_eq!(verdict("1.0"), Severity::Warning);
        assert_eq!(verdict("1.1"), Severity::Warning);
        assert_eq!(verdict("1.2"), Severity::Blocking);
    }
}
