//! Upgrades of a schema in use, with a pair of fixture versions: this release is the first, so it
//! has no earlier one of its own.

use fleet_tests::database::Database;
use fleet_tests::wait;
use pg_relay_processor::oneshot::Complaint;
use pg_relay_processor::schema::{
    Bundle, Installed, Patience, SchemaError, Script, Upgrade, Upgraded, Version, install, upgrade,
};
use shared::db::connect::Connector;
use shared::exit::Exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const V10: Version = Version::new(1, 0);
const V11: Version = Version::new(1, 1);

const OLD: Bundle = Bundle {
    name: "pgrelay",
    schema: "pgrelay",
    comment: "fixture",
    requires: &[],
    version: V10,
    roles: &[],
    scripts: &[Script {
        path: "1.0.sql",
        sql: include_str!("fixture/1.0.sql"),
    }],
    upgrades: &[],
    data: &[],
};

const NEW: Bundle = Bundle {
    version: V11,
    scripts: &[Script {
        path: "1.1.sql",
        sql: include_str!("fixture/1.1.sql"),
    }],
    upgrades: &[Upgrade {
        from: V10,
        to: V11,
        sql: include_str!("fixture/1.0--1.1.sql"),
    }],
    ..OLD
};

/// A release of the future whose schema needs binaries of the future.
const FUTURE: Bundle = Bundle {
    version: Version::new(9, 0),
    scripts: &[Script {
        path: "9.0.sql",
        sql: "CREATE SCHEMA pgrelay;
              CREATE FUNCTION pgrelay.version() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '9.0'::text $$;
              CREATE FUNCTION pgrelay._oldest_processor() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '9.0'::text $$",
    }],
    ..OLD
};

async fn database_with(bundle: &Bundle) -> (Database, Connector) {
    let database = Database::empty().await;
    let connector = Connector::from_url(&database.url()).expect("a URL");
    let installed = install(&connector, bundle)
        .await
        .expect("the fixture to be installed");
    assert_eq!(installed, Installed::Now);
    (database, connector)
}

async fn catalog(database: &Database) -> Vec<String> {
    let rows = database
        .rows(include_str!("fixture/catalog.sql"), &[&"pgrelay"])
        .await;
    rows.iter().map(|row| row.get(0)).collect()
}

/// What must be the same after a successful and after a given-up upgrade.
async fn pause(database: &Database) -> Option<String> {
    database
        .query_one("SELECT paused_until::text FROM pgrelay.fleet", &[])
        .await
}

#[tokio::test]
async fn fresh_equals_upgraded() {
    let (fresh, _) = database_with(&NEW).await;
    let (upgraded, connector) = database_with(&OLD).await;
    let before = catalog(&upgraded).await;
    let refused = install(&connector, &NEW).await.unwrap_err();
    assert!(matches!(refused, SchemaError::Older { .. }), "{refused}");
    assert_eq!(refused.exit(), Exit::PreflightBlocked);
    assert_eq!(
        refused.hint().as_deref(),
        Some("run pg-relay-processor upgrade")
    );

    let outcome = upgrade(
        &connector,
        &NEW,
        Patience::default(),
        &CancellationToken::new(),
    )
    .await;
    assert_eq!(outcome.unwrap(), Upgraded::From(V10));
    let expected = catalog(&fresh).await;
    assert_ne!(before, expected, "the fixture versions do not differ");
    assert_eq!(catalog(&upgraded).await, expected);
    assert_eq!(pause(&upgraded).await, None);

    let again = upgrade(
        &connector,
        &NEW,
        Patience::default(),
        &CancellationToken::new(),
    )
    .await;
    assert_eq!(again.unwrap(), Upgraded::Already(V11));
}

#[tokio::test]
async fn the_table_stays_usable_and_is_not_rewritten() {
    let (database, connector) = database_with(&OLD).await;
    let database = Arc::new(database);
    database
        .execute(
            "INSERT INTO pgrelay.queue (payload) SELECT n::text FROM generate_series(1, 1000) AS n;
             UPDATE pgrelay.fleet SET paused_until = '2999-01-01 00:00:00+00'",
        )
        .await;
    let file_sql = "SELECT pg_relation_filenode('pgrelay.queue')::text";
    let file: String = database.query_one(file_sql, &[]).await;
    let earlier_pause = pause(&database).await;

    let holder = database.connect().await;
    holder
        .batch_execute("BEGIN; SELECT FROM pgrelay.queue WHERE id = 1 FOR UPDATE")
        .await
        .unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let hammer = tokio::spawn(hammer(database.connect().await, Arc::clone(&stop)));
    let upgrading = tokio::spawn(async move {
        upgrade(
            &connector,
            &NEW,
            Patience::default(),
            &CancellationToken::new(),
        )
        .await
    });
    // It has met the held row at least twice, so it has let go and tried again.
    for attempt in 1..=2 {
        database
            .until_equals(WAITING, true, Duration::from_secs(30))
            .await;
        database
            .until_equals(WAITING, false, Duration::from_secs(30))
            .await;
        assert!(!upgrading.is_finished(), "went past a held row, {attempt}");
    }
    holder.batch_execute("COMMIT").await.unwrap();
    let outcome = upgrading.await.unwrap();
    stop.store(true, Ordering::Relaxed);
    let (calls, slowest) = hammer.await.unwrap();

    assert_eq!(outcome.unwrap(), Upgraded::From(V10));
    assert_eq!(database.query_one::<String>(file_sql, &[]).await, file);
    assert_eq!(pause(&database).await, earlier_pause);
    let rows: i64 = database
        .query_one("SELECT count(*) FROM pgrelay.queue", &[])
        .await;
    assert_eq!(rows, 1_000 + calls);
    // 300 ms behind our lock request, and a slow machine.
    assert!(slowest < Duration::from_secs(2), "a call took {slowest:?}");
}

/// Whether the upgrade waits for the lock on the queue.
const WAITING: &str = "SELECT EXISTS (
    SELECT FROM pg_locks WHERE relation = 'pgrelay.queue'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted)";

/// Calls notify() without a break; returns how often and how long the slowest call took.
async fn hammer(client: tokio_postgres::Client, stop: Arc<AtomicBool>) -> (i64, Duration) {
    let (mut calls, mut slowest) = (0, Duration::ZERO);
    while !stop.load(Ordering::Relaxed) {
        let started = Instant::now();
        client
            .batch_execute("SELECT pgrelay.notify('x')")
            .await
            .expect("notify() to work during an upgrade");
        slowest = slowest.max(started.elapsed());
        calls += 1;
    }
    (calls, slowest)
}

#[tokio::test]
async fn held_claims_are_finished_first_with_the_fleet_paused() {
    let (database, connector) = database_with(&OLD).await;
    let worker = database.connect().await;
    worker
        .batch_execute(
            "SET application_name = 'pg-relay-processor sql worker';
             BEGIN; SELECT FROM pgrelay.queue",
        )
        .await
        .unwrap();
    let upgrading = tokio::spawn(async move {
        upgrade(
            &connector,
            &NEW,
            Patience::default(),
            &CancellationToken::new(),
        )
        .await
    });
    database
        .until_equals(
            "SELECT coalesce(paused_until > clock_timestamp() + interval '1 minute', false) FROM pgrelay.fleet",
            true,
            Duration::from_secs(20),
        )
        .await;
    // The upgrade looks several times before it believes that nobody claims.
    wait::until(
        "the upgrade to look for claims",
        Duration::from_secs(20),
        || async {
            let looking = "SELECT EXISTS (SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'pg-relay-processor upgrade'
                  AND query LIKE '%pg_locks%')";
            database
                .query_one::<bool>(looking, &[])
                .await
                .then_some(())
        },
    )
    .await;
    assert!(!upgrading.is_finished());
    let version: String = database.query_one("SELECT pgrelay.version()", &[]).await;
    assert_eq!(version, "1.0", "upgraded under a held claim");
    worker.batch_execute("COMMIT").await.unwrap();
    assert_eq!(upgrading.await.unwrap().unwrap(), Upgraded::From(V10));
    assert_eq!(pause(&database).await, None);
    let reloads: i64 = database
        .query_one("SELECT reload_generation FROM pgrelay.fleet", &[])
        .await;
    assert_eq!(reloads, 1);
}

#[tokio::test]
async fn a_lock_that_cannot_be_had_leaves_everything_as_it_was() {
    let (database, connector) = database_with(&OLD).await;
    let before = catalog(&database).await;
    let holder = database.connect().await;
    holder
        .batch_execute("BEGIN; LOCK TABLE pgrelay.queue IN ACCESS SHARE MODE")
        .await
        .unwrap();
    let patience = Patience {
        lock: Duration::from_millis(50),
        step: Duration::from_millis(600),
        ..Patience::default()
    };
    let error = upgrade(&connector, &NEW, patience, &CancellationToken::new())
        .await
        .unwrap_err();
    assert!(matches!(error, SchemaError::Locked { .. }), "{error}");
    assert_eq!(error.exit(), Exit::DatabaseUnavailable);
    assert_eq!(pause(&database).await, None);
    assert_eq!(catalog(&database).await, before);
}

#[tokio::test]
async fn an_interrupted_upgrade_lets_the_fleet_go_on() {
    let (database, connector) = database_with(&OLD).await;
    let holder = database.connect().await;
    holder
        .batch_execute("BEGIN; LOCK TABLE pgrelay.queue IN ACCESS SHARE MODE")
        .await
        .unwrap();
    let stop = CancellationToken::new();
    let (outcome, ()) = tokio::join!(
        upgrade(&connector, &NEW, Patience::default(), &stop),
        async {
            database
                .until_equals(WAITING, true, Duration::from_secs(20))
                .await;
            stop.cancel();
        }
    );
    let error = outcome.unwrap_err();
    assert!(matches!(error, SchemaError::Interrupted { .. }), "{error}");
    assert_eq!(pause(&database).await, None);
}

#[tokio::test]
async fn two_upgraders_do_it_once() {
    let (database, connector) = database_with(&OLD).await;
    let patience = Patience::default();
    let goes_on = CancellationToken::new();
    let (one, other) = tokio::join!(
        upgrade(&connector, &NEW, patience, &goes_on),
        upgrade(&connector, &NEW, patience, &goes_on)
    );
    let mut outcomes = [one.unwrap(), other.unwrap()];
    outcomes.sort_by_key(|outcome| matches!(outcome, Upgraded::Already(_)));
    assert_eq!(outcomes, [Upgraded::From(V10), Upgraded::Already(V11)]);
    assert_eq!(pause(&database).await, None);
}

#[tokio::test]
async fn a_newer_schema_is_left_alone() {
    let (database, connector) = database_with(&FUTURE).await;
    for refused in [
        upgrade(
            &connector,
            &NEW,
            Patience::default(),
            &CancellationToken::new(),
        )
        .await
        .map(|_| ()),
        install(&connector, &NEW).await.map(|_| ()),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(
            error.to_string(),
            "pgrelay 9.0 is installed; it is newer than this release (1.1) and needs pg-relay-processor 9.0 or later"
        );
        assert_eq!(error.exit(), Exit::PreflightBlocked);
    }
    // One that says it may be served by older binaries is none of our business either.
    database
        .execute(
            "CREATE OR REPLACE FUNCTION pgrelay._oldest_processor() RETURNS text LANGUAGE sql IMMUTABLE
             AS $$ SELECT '1.0'::text $$",
        )
        .await;
    let newer = Version::new(9, 0);
    let upgraded = upgrade(
        &connector,
        &NEW,
        Patience::default(),
        &CancellationToken::new(),
    )
    .await;
    assert_eq!(upgraded.unwrap(), Upgraded::Already(newer));
    let installed = install(&connector, &NEW).await;
    assert_eq!(installed.unwrap(), Installed::Already(newer));
}
