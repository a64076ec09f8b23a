//! Least privilege of the notifier: what each role may call and see, and that everything else is refused.

use fleet_tests::database::Database;

use crate::notifier_db::with_profiles;
use crate::privileges::{self, Rights, Role};
use crate::steps::refusal;

const ROLES: &[Role] = &[
    ('a', "n_admin", "pgrelay_notifier_admin"),
    ('s', "n_sender", "pgrelay_notifier_sender"),
    ('o', "n_other", "pgrelay_notifier_sender"),
    ('m', "n_monitor", "pgrelay_notifier_monitor"),
    ('w', "n_processor", "pgrelay_processor"),
    ('q', "n_queue_admin", "pgrelay_admin"),
    ('-', "n_stranger", ""),
];

const MATRIX: &[Rights] = &[
    (
        "SELECT pgrelay_notifier.create_profile('x', 'webhook', '{\"url\": \"https://h.example\"}')",
        "a",
    ),
    (
        "SELECT pgrelay_notifier.update_profile('mail', p_description => 'x')",
        "a",
    ),
    ("SELECT pgrelay_notifier.drop_profile('hook')", "a"),
    ("SELECT pgrelay_notifier.purge('1 day')", "a"),
    (
        "SELECT pgrelay_notifier.send('mail', '{\"to\": \"a@x.org\"}')",
        "aso",
    ),
    (
        "SELECT pgrelay_notifier.send_mail('mail', 'a@x.org', 's')",
        "aso",
    ),
    (
        "SELECT pgrelay_notifier.send_mail('mail', ARRAY['a@x.org'], 's')",
        "aso",
    ),
    ("SELECT pgrelay_notifier.send_webhook('hook', '1')", "aso"),
    (
        "SELECT pgrelay_notifier.resend(pgrelay_notifier.send_webhook('hook', '1'))",
        "aso",
    ),
    (
        "SELECT pgrelay_notifier.cancel(pgrelay_notifier.send_webhook('hook', '1'))",
        "aso",
    ),
    ("SELECT pgrelay_notifier.version()", "asomw"),
    ("SELECT pgrelay_notifier.interface_version()", "aw"),
    ("SELECT pgrelay_notifier.fetch(1)", "w"),
    (
        "SELECT pgrelay_notifier.set_status(1, 'sent', NULL, NULL, 1, 1)",
        "w",
    ),
    ("SELECT pgrelay_notifier.debug_log(1, 's', 'd')", "w"),
    ("SELECT FROM pgrelay_notifier.notification_status", "asom"),
    ("SELECT FROM pgrelay_notifier.attempt_status", "asom"),
    ("SELECT FROM pgrelay_notifier.debug_trace", "asom"),
    ("SELECT FROM pgrelay_notifier.profile_status", "am"),
    ("SELECT FROM pgrelay_notifier.profiles", ""),
    ("SELECT FROM pgrelay_notifier.notifications", ""),
    ("SELECT FROM pgrelay_notifier.attempts", ""),
    ("SELECT FROM pgrelay_notifier.debug_steps", ""),
    (
        "INSERT INTO pgrelay_notifier.notifications DEFAULT VALUES",
        "",
    ),
    ("UPDATE pgrelay_notifier.profiles SET profile = '{}'", ""),
    ("DELETE FROM pgrelay_notifier.attempts", ""),
    ("TRUNCATE pgrelay_notifier.debug_steps", ""),
    (
        "SELECT nextval('pgrelay_notifier.notifications_id_seq')",
        "",
    ),
    (
        "SELECT pgrelay_notifier._send('mail', '{}', NULL, NULL, NULL, NULL)",
        "",
    ),
    ("SELECT pgrelay_notifier._own(1)", ""),
    ("SELECT pgrelay_notifier._use_channel('c')", ""),
    ("SELECT pgrelay_notifier._fields('smtp')", ""),
    ("CREATE TABLE pgrelay_notifier.mine ()", ""),
    ("DROP FUNCTION pgrelay_notifier.version()", ""),
    ("SELECT pgrelay.notify('pg_relay_notifier.send', '1')", "wq"),
    ("SELECT FROM pgrelay.queue", "wq"),
];

async fn with_members() -> Database {
    let db = with_profiles().await;
    privileges::create_members(&db, ROLES).await;
    db
}

#[tokio::test]
async fn the_matrix_of_roles_and_calls() {
    let db = with_members().await;
    privileges::check_matrix(&db, ROLES, MATRIX).await;
    privileges::drop_members(&db, ROLES).await;
}

#[tokio::test]
async fn functions_paths_and_comments() {
    let db = with_profiles().await;
    privileges::check_functions(&db, "pgrelay_notifier", MATRIX).await;
    privileges::check_search_paths(&db, "pgrelay_notifier").await;
    privileges::check_comments(&db, "pgrelay_notifier").await;
}

#[tokio::test]
async fn senders_see_and_touch_only_what_is_theirs() {
    let db = with_members().await;
    let session = |role: &str| {
        let role = format!("{}_{role}", db.name());
        let db = &db;
        async move { db.as_role(&role).await }
    };
    let (sender, other) = (session("n_sender").await, session("n_other").await);
    let (monitor, admin) = (session("n_monitor").await, session("n_admin").await);
    let sql =
        "SELECT pgrelay_notifier.send_mail('mail', 'a@x.org', 'Secret subject', 'Secret text')";
    let id: i64 = sender.query_one(sql, &[]).await.unwrap().get(0);
    db.execute(&format!(
        "SELECT pgrelay_notifier.set_status({id}, 'retry', '451 a@x.org', NULL, 1, 1), pgrelay_notifier.debug_log({id}, 's', 'd')"
    ))
    .await;
    let count = "SELECT (SELECT count(*) FROM pgrelay_notifier.notification_status) + (SELECT count(*) FROM pgrelay_notifier.attempt_status) \
                 + (SELECT count(*) FROM pgrelay_notifier.debug_trace)";
    for (session, seen) in [(&sender, 3_i64), (&other, 0), (&monitor, 3), (&admin, 3)] {
        let row = session.query_one(count, &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), seen);
    }
    // Not even a monitor sees what is in it.
    for view in [
        "notification_status",
        "attempt_status",
        "debug_trace",
        "profile_status",
    ] {
        let sql = format!(
            "SELECT coalesce(string_agg(v::text, ''), '') FROM pgrelay_notifier.{view} AS v"
        );
        let text: String = monitor.query_one(&sql, &[]).await.unwrap().get(0);
        assert!(
            !text.contains("Secret") && !text.contains("mail.example.org"),
            "{text}"
        );
    }
    for call in ["resend", "cancel"] {
        let sql = format!("SELECT pgrelay_notifier.{call}({id})");
        let refused = refusal(&other, &sql).await;
        assert_eq!(refused.sqlstate, "PN007", "{refused:?}");
        let unknown = refusal(&other, &format!("SELECT pgrelay_notifier.{call}(4711)")).await;
        assert_eq!(
            unknown.message,
            refused
                .message
                .replace(&format!("notification {id}"), "notification 4711")
        );
        sender.query_one(&sql, &[]).await.unwrap();
    }
    let sql = format!("SELECT pgrelay_notifier.resend({id})");
    admin.query_one(&sql, &[]).await.unwrap();
    drop((sender, other, monitor, admin));
    privileges::drop_members(&db, ROLES).await;
}
