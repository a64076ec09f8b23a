//! What there is of the notifier: whether it is installed, complete, callable, and of an interface version that this Processor speaks
//! (pg_relay_notifier: The Interface Contract).
//!
//! One look judges, for the preflight and before any event is ended because of the notifier, so that what `check` says is what events end with.

use crate::engine::verdict::of_companion;
use shared::failure::Class;
use std::sync::Arc;
use tokio_postgres::{Client, Error};

/// How the notifier announces itself in `pgrelay.companions`.
pub const NOTIFIER: &str = "pg_relay_notifier";

/// The interface version this Processor speaks.
pub const VERSION: i32 = 1;

/// Name, argument types and result of the functions of interface version 1.
const FUNCTIONS: [(&str, &str, &str); 4] = [
    ("interface_version", "", "integer"),
    (
        "fetch",
        "bigint",
        "TABLE(transport text, profile jsonb, message jsonb, debug boolean)",
    ),
    (
        "set_status",
        "bigint, text, text, text, integer, integer",
        "void",
    ),
    ("debug_log", "bigint, text, text", "void"),
];

/// What a look at the notifier found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interface {
    /// It is not registered.
    Absent,
    /// It is registered, and cannot be called.
    Unusable(Vec<Problem>),
    /// It can be called.
    Servable(Arc<Servable>),
}

/// A notifier that can be called.
#[derive(Debug, PartialEq, Eq)]
pub struct Servable {
    /// Its schema, quoted for SQL.
    pub schema: String,
    /// The identities of its functions: one that was replaced is another notifier.
    functions: Vec<u32>,
}

/// One reason why the notifier cannot be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Code of the finding.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// What it means for an event.
    pub class: Class,
}

impl Interface {
    /// Whoever looked lost the session by it.
    #[must_use]
    pub fn ended_its_session() -> Self {
        let message = "the session was lost while interface_version() ran".to_owned();
        let hint = "call it as the Processor's role to see why";
        Self::Unusable(vec![Problem {
            class: Class::Transient,
            ..Problem::new("notifier:functions", message, hint)
        }])
    }

    /// The notifier, if it can be called.
    #[must_use]
    pub const fn servable(&self) -> Option<&Arc<Servable>> {
        match self {
            Self::Servable(servable) => Some(servable),
            Self::Absent | Self::Unusable(_) => None,
        }
    }

    /// What the preflight says of it; nothing of one that is not there.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Unusable(problems) => problems,
            Self::Absent | Self::Servable(_) => &[],
        }
    }

    /// Why an event cannot be sent with it, and whether that may pass.
    #[must_use]
    pub fn cause(&self) -> (Class, String) {
        let problems = self.problems();
        if problems.is_empty() {
            let text = format!(
                "the notifier is not installed: pgrelay.companions has no row named {NOTIFIER}"
            );
            return (Class::Permanent, text);
        }
        let messages: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
        let passes = problems.iter().all(|p| p.class == Class::Transient);
        let class = if passes {
            Class::Transient
        } else {
            Class::Permanent
        };
        (
            class,
            format!("the notifier cannot be used: {}", messages.join("; ")),
        )
    }
}

impl Problem {
    fn new(code: &'static str, message: String, hint: impl Into<String>) -> Self {
        Self {
            code,
            message,
            hint: hint.into(),
            class: Class::Permanent,
        }
    }
}

/// Looks at the notifier, in the open transaction of `client`, which it leaves as it was.
pub async fn look(client: &Client) -> Result<Interface, Error> {
    const REGISTERED: &str = "SELECT c.schema_name, n.oid, pg_catalog.has_schema_privilege(n.oid, 'USAGE'), \
             pg_catalog.quote_ident(c.schema_name) \
         FROM pgrelay.companions AS c \
         LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = c.schema_name \
         WHERE c.name = $1";
    let Some(row) = client.query_opt(REGISTERED, &[&NOTIFIER]).await? else {
        return Ok(Interface::Absent);
    };
    let name: String = row.get(0);
    let Some(oid) = row.get::<_, Option<u32>>(1) else {
        let message = format!("{NOTIFIER} is registered in schema {name}, which does not exist");
        let hint = "install the notifier again, or delete its row from pgrelay.companions";
        return Ok(Interface::Unusable(vec![Problem::new(
            "notifier:schema",
            message,
            hint,
        )]));
    };
    let schema: String = row.get(3);
    let Functions {
        found,
        absent,
        mut refused,
    } = functions(client, oid).await?;
    let mut problems = Vec::new();
    if !absent.is_empty() {
        let message = format!("schema {name} lacks {}", absent.join("; "));
        let hint = "notify events end in error until the notifier is complete";
        problems.push(Problem::new("notifier:functions", message, hint));
    }
    if row.get::<_, Option<bool>>(2) != Some(true) {
        refused.insert(0, format!("USAGE on schema {name}"));
    }
    if !refused.is_empty() {
        let message = format!("the role of this session lacks {}", refused.join("; "));
        let hint =
            format!("grant them to pgrelay_processor, as the install script of {NOTIFIER} does");
        problems.push(Problem::new("notifier:grants", message, hint));
    }
    if problems.is_empty() {
        problems.extend(version(client, &schema).await?);
    }
    Ok(if problems.is_empty() {
        let functions = found;
        Interface::Servable(Arc::new(Servable { schema, functions }))
    } else {
        Interface::Unusable(problems)
    })
}

#[derive(Default)]
struct Functions {
    found: Vec<u32>,
    absent: Vec<String>,
    refused: Vec<String>,
}

async fn functions(client: &Client, schema: u32) -> Result<Functions, Error> {
    const LOOK: &str = "SELECT w.name || '(' || w.arguments || ')', p.oid, pg_catalog.has_function_privilege(p.oid, 'EXECUTE') \
         FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS w (name, arguments, result, place) \
         LEFT JOIN pg_catalog.pg_proc AS p \
           ON p.pronamespace = $4 \
          AND p.proname = w.name \
          AND p.prokind = 'f' \
          AND pg_catalog.oidvectortypes(p.proargtypes) = w.arguments \
          AND pg_catalog.pg_get_function_result(p.oid) = w.result \
         ORDER BY w.place";
    let names = FUNCTIONS.map(|(name, _, _)| name);
    let arguments = FUNCTIONS.map(|(_, arguments, _)| arguments);
    let results = FUNCTIONS.map(|(_, _, result)| result);
    let rows = client
        .query(
            LOOK,
            &[&&names[..], &&arguments[..], &&results[..], &schema],
        )
        .await?;
    let mut functions = Functions::default();
    for row in rows {
        let signature: String = row.get(0);
        match row.get::<_, Option<u32>>(1) {
            None => functions.absent.push(signature),
            Some(oid) => {
                functions.found.push(oid);
                if row.get::<_, Option<bool>>(2) != Some(true) {
                    functions.refused.push(format!("EXECUTE on {signature}"));
                }
            }
        }
    }
    Ok(functions)
}

/// Calls the function, briefly and without effect: sql events must not wait for it.
async fn version(client: &Client, schema: &str) -> Result<Option<Problem>, Error> {
    const BEFORE: &str =
        "SAVEPOINT look; SET LOCAL statement_timeout = 2000; SET TRANSACTION READ ONLY";
    const AFTER: &str = "ROLLBACK TO SAVEPOINT look; RELEASE SAVEPOINT look";
    client.batch_execute(BEFORE).await?;
    let call = format!("SELECT {schema}.interface_version()");
    let answer = client.query_typed_one(&call, &[]).await;
    client.batch_execute(AFTER).await?;
    let answer = answer.map(|row| row.get::<_, Option<i32>>(0));
    Ok(match answer {
        Ok(Some(VERSION)) => None,
        Ok(version) => {
            let version = version.map_or_else(|| "NULL".to_owned(), |version| version.to_string());
            let message = format!(
                "the notifier has interface version {version}, and this Processor speaks {VERSION}"
            );
            let hint = "notify events end in error until both speak the same version";
            Some(Problem::new("notifier:version", message, hint))
        }
        Err(error) => {
            let state = error.code().map_or("none", |state| state.code());
            let message = format!("interface_version() failed with SQLSTATE {state}");
            let hint = "call it as the Processor's role to see why";
            Some(Problem {
                class: of_companion(error.code()),
                ..Problem::new("notifier:functions", message, hint)
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Interface, Problem};
    use shared::failure::Class;

    #[test]
    fn the_cause_names_what_is_missing() {
        let (class, text) = Interface::Absent.cause();
        assert_eq!(class, Class::Permanent);
        assert_eq!(
            text,
            "the notifier is not installed: pgrelay.companions has no row named pg_relay_notifier"
        );
        let lacks = |what: &str| Problem::new("notifier:functions", what.to_owned(), "");
        let passing = Problem {
            class: Class::Transient,
            ..lacks("no answer")
        };
        let both = Interface::Unusable(vec![lacks("no fetch"), passing.clone()]);
        let text = "the notifier cannot be used: no fetch; no answer".to_owned();
        assert_eq!(both.cause(), (Class::Permanent, text));
        let (class, _) = Interface::Unusable(vec![passing]).cause();
        assert_eq!(class, Class::Transient);
    }
}
