//! The package `pepsi`: the mail pipeline's queue, which pepsi-failure-bouncer serves.
//!
//! An existing PEPSI database has a schema of this name with a table of its own. It is never touched: without our `version()` it
//! counts as somebody else's, and installing is refused.

use super::Version;
use super::bundle::{Bundle, Data, GroupRole, Script};

macro_rules! scripts {
    ($($path:literal),* $(,)?) => {
        &[$(Script {
            path: $path,
            sql: include_str!(concat!("../../../bouncer/sql/pepsi/", $path)),
        }),*]
    };
}

const fn all_rows(name: &'static str) -> Data {
    Data { name, filter: "" }
}

/// The mail pipeline's queue.
pub const PEPSI: Bundle = Bundle {
    name: "pepsi",
    schema: "pepsi",
    comment: "queue of the PEPSI mail pipeline, watched by pepsi-failure-bouncer",
    requires: &[],
    version: Version::new(1, 1),
    roles: &[GroupRole {
        name: "pepsi",
        member_of: &[],
        login: true,
    }],
    scripts: scripts![
        "roles.sql",
        "schema.sql",
        "tables/ingress.sql",
        "tables/ingress_trail.sql",
        "functions/version.sql",
        "functions/_ingress_touch.sql",
        "functions/_ingress_trail.sql",
        "functions/_ingress_failed.sql",
    ],
    upgrades: &[],
    data: &[
        all_rows("ingress"),
        all_rows("ingress_id_seq"),
        all_rows("ingress_trail"),
        all_rows("ingress_trail_id_seq"),
    ],
};

#[cfg(test)]
mod tests {
    use super::PEPSI;
    use crate::schema::{Version, listed};

    #[test]
    fn every_file_of_the_folder_is_installed_exactly_once() {
        listed::exactly_once(
            concat!(env!("CARGO_MANIFEST_DIR"), "/../bouncer/sql/pepsi"),
            PEPSI.scripts,
        );
    }

    #[test]
    fn the_version_is_the_one_the_schema_tells() {
        let version = PEPSI
            .scripts
            .iter()
            .find(|script| script.path == "functions/version.sql")
            .unwrap();
        assert!(version.sql.contains(&format!("'{}'", PEPSI.version)));
        assert!(PEPSI.version <= Version::OF_THIS_BINARY);
    }
}
