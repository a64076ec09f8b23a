//! `check` finds what would keep a Processor from working, and says it in words that can be acted upon.

use fleet_tests::database::Database;
use fleet_tests::processor::{command, command_at};
use serde_json::Value;

/// A login of its own, member of the given groups, dropped with the test's last statement.
struct Login<'a> {
    database: &'a Database,
    name: String,
}

impl<'a> Login<'a> {
    async fn create(database: &'a Database, group: Option<&str>) -> Self {
        let name = format!("{}_login", database.name());
        database.execute(&format!("CREATE ROLE {name} LOGIN")).await;
        if let Some(group) = group {
            database.execute(&format!("GRANT {group} TO {name}")).await;
        }
        Self { database, name }
    }

    fn url(&self) -> String {
        self.database.url_as(&self.name)
    }

    /// Roles outlive the database.
    async fn remove(self) {
        let name = &self.name;
        self.database
            .execute(&format!("DROP OWNED BY {name}; DROP ROLE {name}"))
            .await;
    }
}

#[tokio::test]
async fn a_missing_schema_blocks_and_names_the_cure() {
    let database = Database::empty().await;
    let login = Login::create(&database, None).await;
    let output = command_at(&login.url(), &["check"]).await;
    assert_eq!(output.code, 76, "{output}");
    assert_eq!(
        output.stdout,
        format!(
            "blocking relay:schema: schema pgrelay is missing in database \"{}\" (hint: run pg-relay-processor install)\nnot ready\n",
            database.name()
        )
    );
    login.remove().await;
}

#[tokio::test]
async fn a_member_of_the_group_role_is_ready() {
    let database = Database::with_schema().await;
    let login = Login::create(&database, Some("pgrelay_processor")).await;
    let output = command_at(&login.url(), &["check"]).await;
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (0, "ready\n"),
        "{output}"
    );
    let output = command_at(&login.url(), &["check", "--json"]).await;
    assert_eq!(output.stdout, "{\"ready\":true,\"findings\":[]}\n");
    login.remove().await;
}

#[tokio::test]
async fn missing_grants_are_listed() {
    let database = Database::with_schema().await;
    let login = Login::create(&database, None).await;
    let name = &login.name;
    let output = command_at(&login.url(), &["check"]).await;
    assert_eq!(output.code, 76, "{output}");
    assert_eq!(
        output.stdout,
        format!(
            "blocking relay:grants: role \"{name}\" lacks USAGE on schema pgrelay (hint: GRANT pgrelay_processor TO \"{name}\")\nnot ready\n"
        )
    );
    database
        .execute(&format!(
            "GRANT pgrelay_processor TO {name};
             REVOKE INSERT, DELETE ON pgrelay.log FROM pgrelay_processor;
             REVOKE EXECUTE ON FUNCTION pgrelay._lane FROM pgrelay_processor"
        ))
        .await;
    let output = command_at(&login.url(), &["check"]).await;
    assert_eq!(output.code, 76, "{output}");
    assert_eq!(
        output.stdout,
        format!(
            "blocking relay:grants: role \"{name}\" lacks INSERT, DELETE on pgrelay.log; EXECUTE on pgrelay._lane (hint: pgrelay_processor has lost grants that install gave it)\nnot ready\n"
        )
    );
    login.remove().await;
}

#[tokio::test]
async fn a_newer_schema_blocks_when_it_needs_newer_processors() {
    let database = Database::with_schema().await;
    database
        .execute("CREATE OR REPLACE FUNCTION pgrelay.version() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '1.9'::text $$")
        .await;
    let output = command(&database, &["check"]).await;
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output
            .stdout
            .contains("warning relay:version: pgrelay 1.9 is installed"),
        "{output}"
    );
    database
        .execute("CREATE OR REPLACE FUNCTION pgrelay._oldest_processor() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '1.9'::text $$")
        .await;
    for arguments in [["check"], ["run"], ["install"], ["upgrade"]] {
        let output = command(&database, &arguments).await;
        assert_eq!(output.code, 76, "{arguments:?} {output}");
    }
}

#[tokio::test]
async fn actions_that_cannot_run_are_warned_about_one_by_one() {
    let database = Database::with_schema().await;
    database
        .execute(
            "CREATE FUNCTION public.takes_json(jsonb) RETURNS void LANGUAGE sql AS '';
             SELECT pgrelay.register('good', '/* fine */ (SELECT takes_json($1))'),
                    pgrelay.register('unknown', 'SELECT nowhere($1)'),
                    pgrelay.register('double', 'SELECT 1; SELECT 2'),
                    pgrelay.register('params', 'SELECT $1::int + $2::int'),
                    pgrelay.register('ddl', 'DROP TABLE pgrelay.queue'),
                    pgrelay.register('off', 'DROP TABLE pgrelay.queue'),
                    pgrelay.update('off', p_enabled := false)",
        )
        .await;
    let output = command(&database, &["check", "--json"]).await;
    assert_eq!(output.code, 0, "{output}");
    let answer: Value = serde_json::from_str(&output.stdout).expect("one JSON object");
    let mut about: Vec<&str> = answer["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter(|finding| finding["code"] == "channel:action")
        .filter_map(|finding| finding["message"].as_str()?.split('"').nth(1))
        .collect();
    about.sort_unstable();
    assert_eq!(about, ["ddl", "double", "params", "unknown"], "{output}");
}

#[tokio::test]
async fn a_broken_notifier_is_warned_about_and_does_not_block() {
    let database = Database::with_schema().await;
    let login = Login::create(&database, Some("pgrelay_processor")).await;
    let steps = [
        (
            "SELECT pgrelay.register_companion('pg_relay_notifier', 'pgrelay_notifier', '1.0')",
            "notifier:schema: pg_relay_notifier is registered in schema pgrelay_notifier, which does not exist",
        ),
        (
            "CREATE SCHEMA pgrelay_notifier; GRANT USAGE ON SCHEMA pgrelay_notifier TO pgrelay_processor;
             CREATE FUNCTION pgrelay_notifier.interface_version() RETURNS integer LANGUAGE sql AS 'SELECT 2'",
            "notifier:functions: schema pgrelay_notifier lacks fetch(bigint); set_status(bigint, text, text, text, integer, integer); debug_log(bigint, text, text)",
        ),
        (
            "CREATE FUNCTION pgrelay_notifier.fetch(p_id bigint) RETURNS TABLE (transport text, profile jsonb, message jsonb, debug boolean)
                 LANGUAGE sql AS 'SELECT NULL::text, NULL::jsonb, NULL::jsonb, false WHERE false';
             CREATE FUNCTION pgrelay_notifier.set_status(bigint, text, text, text, integer, integer) RETURNS void LANGUAGE sql AS '';
             CREATE FUNCTION pgrelay_notifier.debug_log(bigint, text, text) RETURNS void LANGUAGE sql AS '';
             REVOKE ALL ON FUNCTION pgrelay_notifier.debug_log(bigint, text, text) FROM PUBLIC",
            "notifier:grants: the role of this session lacks EXECUTE on debug_log(bigint, text, text)",
        ),
        (
            "GRANT EXECUTE ON FUNCTION pgrelay_notifier.debug_log(bigint, text, text) TO pgrelay_processor",
            "notifier:version: the notifier has interface version 2, and this Processor speaks 1",
        ),
    ];
    for (sql, expected) in steps {
        database.execute(sql).await;
        let output = command_at(&login.url(), &["check"]).await;
        assert_eq!(output.code, 0, "{output}");
        assert!(
            output.stdout.starts_with(&format!("warning {expected}")),
            "{expected}\n{output}"
        );
    }
    database
        .execute("CREATE OR REPLACE FUNCTION pgrelay_notifier.interface_version() RETURNS integer LANGUAGE sql AS 'SELECT 1'")
        .await;
    let output = command_at(&login.url(), &["check"]).await;
    assert_eq!(output.stdout, "ready\n");
    login.remove().await;
}
