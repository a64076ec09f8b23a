//! The database half against a real server, which the harness of the fleet tests provides.

use fleet_tests::database::Database;
use shared::db::connect::{ConnectError, Connector, Session};
use shared::db::error_chain::ErrorChain;
use shared::db::listener::{Listener, WakeUp};
use std::time::Duration;
use tokio::time::timeout;
use tokio_postgres::SimpleQueryMessage;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const LIMIT: Duration = Duration::from_secs(20);

/// A database of this test's own, its URL and a connector to it.
async fn server() -> (String, Connector, Database) {
    let database = Database::empty().await;
    let url = database.url();
    let connector = Connector::from_url(&url).expect("the harness gives a good URL");
    (url, connector, database)
}

async fn value(client: &tokio_postgres::Client, query: &str) -> String {
    let answer = client.simple_query(query).await.expect(query);
    let row = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    row.expect(query).to_owned()
}

async fn kill(admin: &Session, pid: i32) {
    let statement = format!("SELECT pg_catalog.pg_terminate_backend({pid})");
    let killed = admin.client.batch_execute(&statement).await;
    killed.expect("pg_terminate_backend");
}

async fn next(listener: &mut Listener) -> WakeUp {
    timeout(LIMIT, listener.wake_ups.recv())
        .await
        .expect("no wake-up came")
        .expect("the listener ended")
}

#[tokio::test]
async fn a_session_starts_with_its_settings_and_reset_returns_to_them() {
    let (_url, connector, _database) = server().await;
    let settings = [
        ("lock_timeout", "123ms".to_owned()),
        ("search_path", r#"pg_catalog, "od d\name""#.to_owned()),
    ];
    let session = connector.connect("settings test", &settings).await.unwrap();
    assert!(session.startup_settings_honoured);
    let client = &session.client;
    client
        .batch_execute("SET lock_timeout = '9s'; SET search_path = public; RESET ALL")
        .await
        .unwrap();
    assert_eq!(value(client, "SHOW lock_timeout").await, "123ms");
    assert_eq!(
        value(client, "SHOW search_path").await,
        r#"pg_catalog, "od d\name""#
    );
    assert_eq!(
        value(client, "SHOW application_name").await,
        "settings test"
    );
    let pid = value(client, "SELECT pg_catalog.pg_backend_pid()").await;
    assert_eq!(pid, session.backend_pid.to_string());
}

#[tokio::test]
async fn the_farewell_tells_why_an_idle_session_ended() {
    let (_url, connector, _database) = server().await;
    let admin = connector.connect("admin", &[]).await.unwrap();
    let victim = connector.connect("victim", &[]).await.unwrap();
    assert_eq!(victim.farewell.sqlstate(), None);
    kill(&admin, victim.backend_pid).await;
    timeout(LIMIT, victim.farewell.closed())
        .await
        .expect("the end went unnoticed");
    let state = victim.farewell.sqlstate().expect("a reason");
    assert_eq!(state.code(), "57P01");
}

#[tokio::test]
async fn the_farewell_of_a_busy_session_is_noted_by_whoever_ran_the_statement() {
    let (_url, connector, _database) = server().await;
    let victim = connector.connect("victim", &[]).await.unwrap();
    let error = victim
        .client
        .batch_execute("SELECT pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid())")
        .await
        .expect_err("the session ends itself");
    victim.farewell.note(&error);
    timeout(LIMIT, victim.farewell.closed())
        .await
        .expect("the end went unnoticed");
    let state = victim.farewell.sqlstate().expect("a reason");
    assert_eq!(state.code(), "57P01");
}

#[tokio::test]
async fn an_action_that_raises_a_shutdown_code_is_not_believed() {
    let (_url, connector, _database) = server().await;
    let session = connector.connect("forger", &[]).await.unwrap();
    let error = session
        .client
        .batch_execute("DO $$ BEGIN RAISE EXCEPTION 'bye' USING ERRCODE = '57P01'; END $$")
        .await
        .expect_err("raised");
    session.farewell.note(&error);
    assert!(!session.farewell.is_closed());
    let farewell = std::sync::Arc::clone(&session.farewell);
    drop(session);
    timeout(LIMIT, farewell.closed())
        .await
        .expect("dropping the session ends it");
    assert_eq!(farewell.sqlstate(), None);
    assert_eq!(ErrorChain(&error).to_string(), "bye (57P01)");
}

#[tokio::test]
async fn a_refused_login_names_place_and_sqlstate() {
    let (url, _, _database) = server().await;
    let base = url.split('?').next().unwrap().rsplit_once('/').unwrap().0;
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let url = format!("{base}/no_such_database?{query}");
    let connector = Connector::from_url(&url).unwrap();
    let error = connector
        .connect("test", &[])
        .await
        .expect_err("no such database");
    assert!(error.is_login_refused(), "{error}");
    assert_eq!(
        error.sqlstate().map(|state| state.code().to_owned()),
        Some("3D000".to_owned())
    );
    let message = error.to_string();
    assert!(
        message.contains("database \"no_such_database\""),
        "{message}"
    );
    assert!(message.contains("(3D000)"), "{message}");
}

#[tokio::test]
async fn a_dead_host_is_passed_over() {
    let (_url, connector, _database) = server().await;
    let session = connector.connect("probe", &[]).await.unwrap();
    let Some((host, port)) = session.host.rsplit_once(':') else {
        println!("SKIPPED dead host: the server is reached through a socket");
        return;
    };
    let user = value(&session.client, "SELECT current_user").await;
    let url = format!("host=127.0.0.1,{host} port=1,{port} user={user} dbname=postgres");
    let through = Connector::from_url(&url).unwrap();
    match through.connect("test", &[]).await {
        Ok(second) => assert_eq!(second.host, session.host),
        Err(error) => assert!(
            !matches!(error, ConnectError::Unreachable { .. }),
            "{error}"
        ),
    }
}

#[tokio::test]
async fn the_listener_hears_topics_and_comes_back_after_a_loss() {
    let (_url, connector, _database) = server().await;
    let token = CancellationToken::new();
    let tracker = TaskTracker::new();
    let topics = vec!["Odd \"Topic\"".to_owned(), "plain".to_owned()];
    let mut listener = Listener::spawn(
        connector.clone(),
        "listener test",
        topics,
        token.clone(),
        &tracker,
    );
    assert_eq!(next(&mut listener).await, WakeUp::Connected);

    let admin = connector.connect("admin", &[]).await.unwrap();
    admin
        .client
        .batch_execute("SELECT pg_catalog.pg_notify('Odd \"Topic\"', 'one')")
        .await
        .unwrap();
    let expected = WakeUp::Topic {
        topic: "Odd \"Topic\"".to_owned(),
        payload: "one".to_owned(),
    };
    assert_eq!(next(&mut listener).await, expected);

    let client = listener.client().expect("a session");
    let pid = value(&client, "SELECT pg_catalog.pg_backend_pid()").await;
    drop(client);
    kill(&admin, pid.parse().unwrap()).await;
    assert_eq!(next(&mut listener).await, WakeUp::Connected);
    let handle = listener.handle();
    let client = timeout(LIMIT, handle.connected()).await.unwrap().unwrap();
    assert_ne!(
        value(&client, "SELECT pg_catalog.pg_backend_pid()").await,
        pid
    );

    token.cancel();
    tracker.close();
    timeout(LIMIT, tracker.wait())
        .await
        .expect("the listener did not end");
    assert!(timeout(LIMIT, handle.connected()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_flood_of_wake_ups_ends_in_one_that_says_look_again() {
    let (_url, connector, _database) = server().await;
    let token = CancellationToken::new();
    let tracker = TaskTracker::new();
    let topics = vec!["flood".to_owned()];
    let mut listener = Listener::spawn(
        connector.clone(),
        "flood test",
        topics,
        token.clone(),
        &tracker,
    );
    assert_eq!(next(&mut listener).await, WakeUp::Connected);
    let admin = connector.connect("admin", &[]).await.unwrap();
    admin
        .client
        .batch_execute(
            "SELECT pg_catalog.pg_notify('flood', i::text) FROM generate_series(1, 5000) AS i",
        )
        .await
        .unwrap();
    // Nothing is taken until there is no room left and the listener has had every chance to notice.
    timeout(LIMIT, async {
        while listener.wake_ups.capacity() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the backlog did not fill");
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    let mut topics = 0;
    while next(&mut listener).await != WakeUp::Connected {
        topics += 1;
    }
    assert!((1..5_000).contains(&topics), "{topics}");
    token.cancel();
}
