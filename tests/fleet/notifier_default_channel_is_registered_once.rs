//! The default channel is registered by the first profile that uses it, and stays as its administrator has set it.

use fleet_tests::database::Database;
use fleet_tests::wait;

use crate::notifier_db::WEBHOOK;
use crate::steps::literal;

const CHANNELS: &str = "SELECT coalesce(string_agg(format('%s %s', c.channel, c.max_retries), ','), '') FROM pgrelay.channels AS c";

fn create(name: &str, more: &str) -> String {
    let profile = literal(WEBHOOK);
    format!("SELECT pgrelay_notifier.create_profile('{name}', 'webhook', {profile}{more})")
}

#[tokio::test]
async fn by_the_first_profile_and_not_before() {
    let db = Database::with_companion("notifier").await;
    assert_eq!(db.query_one::<String>(CHANNELS, &[]).await, "");
    db.execute("SELECT pgrelay.register('alerts', action_type => 'notify')")
        .await;
    db.execute(&create("other", ", 'alerts'")).await;
    assert_eq!(db.query_one::<String>(CHANNELS, &[]).await, "alerts 0");
    db.execute(&create("first", ", NULL")).await;
    let both = "alerts 0,pg_relay_notifier.send 2";
    assert_eq!(db.query_one::<String>(CHANNELS, &[]).await, both);
    db.execute("SELECT pgrelay.update('pg_relay_notifier.send', p_max_retries := 9)")
        .await;
    db.execute(&create("second", "")).await;
    let both = "alerts 0,pg_relay_notifier.send 9";
    assert_eq!(db.query_one::<String>(CHANNELS, &[]).await, both);
}

#[tokio::test]
async fn by_one_of_two_at_the_same_time() {
    let db = Database::with_companion("notifier").await;
    let (first, second) = (db.connect().await, db.connect().await);
    first
        .batch_execute(&format!("BEGIN; {}", create("a", "")))
        .await
        .unwrap();
    let waiting = tokio::spawn(async move { second.batch_execute(&create("b", "")).await });
    let blocked = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')";
    db.until_equals(blocked, true, wait::SOON).await;
    first.batch_execute("COMMIT").await.unwrap();
    waiting.await.unwrap().unwrap();
    let channel = "pg_relay_notifier.send 2";
    assert_eq!(db.query_one::<String>(CHANNELS, &[]).await, channel);
}
