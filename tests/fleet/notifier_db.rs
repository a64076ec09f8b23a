//! A database with the notifier, profiles to send with, and the look at what became of a notification.

use fleet_tests::database::Database;

/// Settings of profile `mail`.
pub(crate) const SMTP: &str = r#"{"host": "mail.example.org", "from": "App <app@example.org>"}"#;
/// Settings of a profile of transport m365.
pub(crate) const M365: &str = r#"{"tenant_id": "contoso.example.org", "client_id": "c0ffee", "client_secret": "_env:M365_SECRET", "sender": "app@example.org"}"#;
/// Settings of profile `hook`.
pub(crate) const WEBHOOK: &str =
    r#"{"url": "https://hook.example.org/in", "headers": {"X-Token": "_env:HOOK_TOKEN"}}"#;

/// What a monitor sees of a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) status: String,
    pub(crate) attempts: i32,
    pub(crate) last_error: Option<String>,
    pub(crate) provider_ref: Option<String>,
    pub(crate) elapsed_ms: Option<i32>,
    pub(crate) finished: bool,
}

/// The notifier, with the profiles `mail` and `hook`.
pub(crate) async fn with_profiles() -> Database {
    let db = Database::with_companion("notifier").await;
    let create = "SELECT pgrelay_notifier.create_profile($1, $2, $3::text::jsonb)::text";
    for (name, transport, profile) in [("mail", "smtp", SMTP), ("hook", "webhook", WEBHOOK)] {
        db.query_one::<String>(create, &[&name, &transport, &profile])
            .await;
    }
    db
}

/// Sends a mail with profile `mail` in a transaction of its own.
pub(crate) async fn send(db: &Database) -> i64 {
    let sql = "SELECT pgrelay_notifier.send('mail', '{\"to\": \"user@example.org\", \"subject\": \"Hello\"}')";
    db.query_one(sql, &[]).await
}

/// Reports as a Processor does; the arguments are those after the id, as SQL.
pub(crate) async fn report(db: &Database, id: i64, arguments: &str) {
    let sql = format!("SELECT pgrelay_notifier.set_status({id}, {arguments})");
    db.execute(&sql).await;
}

/// What `notification_status` says.
pub(crate) async fn seen(db: &Database, id: i64) -> Seen {
    let sql = "SELECT s.* FROM pgrelay_notifier.notification_status AS s WHERE s.id = $1";
    let rows = db.rows(sql, &[&id]).await;
    let row = rows.first().expect("the notification to be there");
    Seen {
        status: row.get("status"),
        attempts: row.get("attempts"),
        last_error: row.get("last_error"),
        provider_ref: row.get("provider_ref"),
        elapsed_ms: row.get("elapsed_ms"),
        finished: row
            .get::<_, Option<std::time::SystemTime>>("finished_at")
            .is_some(),
    }
}

/// Number, status and detail of its attempts, in the order of the reports.
pub(crate) async fn attempts(
    db: &Database,
    id: i64,
) -> Vec<(Option<i32>, Option<String>, Option<String>)> {
    let sql = "SELECT a.attempt, a.status, a.detail FROM pgrelay_notifier.attempt_status AS a WHERE a.notification_id = $1 ORDER BY a.id";
    let rows = db.rows(sql, &[&id]).await;
    rows.iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect()
}
