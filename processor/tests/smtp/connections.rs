//! Connections that do not come about, that wait, and that are left.

use crate::client::{LONG, SHORT, attempt, letter, send};
use crate::peer::{Act, Peer, Script};
use serde_json::json;
use shared::failure::{Class, Network};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let profile =
        json!({"host": "127.0.0.1", "port": port, "security": "none", "from": "app@example.org"});
    let attempt = attempt(&profile, &letter(), LONG).await;
    assert_eq!(
        (attempt.network(), attempt.class()),
        (Network::Refused, Class::Transient)
    );
}

#[tokio::test]
async fn a_host_that_answers_no_connection_is_waited_for_until_the_limit() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // Connections that nobody accepts fill the backlog; those beyond it are not answered.
    let mut queued = Vec::new();
    while let Ok(stream) = tokio::time::timeout(SHORT, TcpStream::connect(address)).await {
        queued.push(stream.unwrap());
        assert!(queued.len() < 100, "the backlog has no end");
    }
    let profile = json!({"host": "127.0.0.1", "port": address.port(), "security": "none", "from": "app@example.org"});
    let attempt = attempt(&profile, &letter(), SHORT).await;
    assert_eq!(attempt.network(), Network::Timeout);
    assert_eq!(
        attempt.failure().summary,
        "connect: no answer within the limit"
    );
    assert!(
        attempt.elapsed < SHORT + Duration::from_secs(1),
        "{:?}",
        attempt.elapsed
    );
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_a_matter_of_time() {
    // RFC 6761, 6.4: there is no such name, and no resolver asks further.
    let profile = json!({"host": "mail.invalid", "security": "none", "from": "app@example.org"});
    let attempt = attempt(&profile, &letter(), Duration::from_secs(5)).await;
    assert!(matches!(attempt.network(), Network::Dns | Network::Timeout));
    assert_eq!(attempt.class(), Class::Transient);
    assert!(
        attempt.elapsed < Duration::from_secs(6),
        "{:?}",
        attempt.elapsed
    );
}

/// On one thread: a send that waits holds up nobody else.
#[tokio::test(flavor = "current_thread")]
async fn others_go_on_while_a_server_is_silent() {
    let silent = Peer::start(Script::with("banner", Act::Silence));
    let lively = Peer::start(Script::default());
    let mut sent = 0;
    let keys = json!({});
    let waiting = send(&silent, &keys, Duration::from_secs(2));
    tokio::pin!(waiting);
    let waited = loop {
        tokio::select! {
            attempt = &mut waiting => break attempt,
            attempt = send(&lively, &keys, LONG) => {
                attempt.sent();
                sent += 1;
            }
        }
    };
    assert_eq!(waited.network(), Network::Timeout);
    assert!(sent > 0, "nothing was sent meanwhile");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_sends_leave_no_connection_behind() {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let script = Script::with("MAIL", Act::say("451 later"));
    let peer = Peer::start(script);
    send(&peer, &json!({}), LONG).await.failure();
    let before = open();
    for _ in 0..300 {
        send(&peer, &json!({}), LONG).await.failure();
    }
    peer.wait_for_ends(301).await;
    // The peer's ends of them are in this process, too.
    fleet_tests::wait::until("all connections to be closed", LONG, || async {
        let open = open();
        if open <= before {
            Ok(())
        } else {
            Err(format!("{open} files are open, {before} were"))
        }
    })
    .await;
}

/// Where `localhost` has an IPv6 address, nobody listens there.
#[tokio::test]
async fn the_addresses_of_a_host_are_tried_in_turn() {
    let peer = Peer::start(Script::default());
    send(&peer, &json!({"host": "localhost"}), LONG)
        .await
        .sent();
    assert_eq!(peer.heard_to_the_end().await.lines.len(), 5);
}
