//! A Processor that is killed at any point of a send, and a COMMIT that is lost after the server's 250: the mail is sent at least once, and a second copy has the
//! first one's Message-ID.

use fleet_tests::mail::peer::{Peer, Phase};
use fleet_tests::processor::Processor;
use fleet_tests::wait;
use serde_json::json;

use crate::mail_steps::{database, finished, message_id, plain, profile, send, to};
use crate::notifier_db::attempts;

fn ids_of(messages: &[String]) -> Vec<String> {
    let id_of = |message: &String| {
        let mut header = message.lines().take_while(|line| !line.is_empty());
        let id = header.find_map(|line| line.strip_prefix("Message-ID: "));
        id.unwrap_or_else(|| panic!("no Message-ID in\n{message}"))
            .trim_matches(['<', '>'])
            .to_owned()
    };
    messages.iter().map(id_of).collect()
}

#[tokio::test]
async fn a_killed_processor_loses_nothing() {
    let peer = Peer::start().await;
    let db = database().await;
    let settings = json!({"username": "mailer", "password": "_env:MAIL_PASSWORD"});
    profile(&db, "mail", &plain(peer.port(), settings)).await;
    let start = || Processor::with(&db, |config| config.env("MAIL_PASSWORD", "secret"));
    let mut processor = start().await;
    for phase in Phase::ALL {
        let before = peer.accepted().len();
        peer.hold(Some(phase));
        let id = send(&db, "mail", &to("ok@test.example")).await;
        peer.wait_for_held(1).await;
        processor.kill();
        peer.hold(None);
        processor = start().await;
        let seen = finished(&db, id).await;
        assert_eq!(seen.status, "sent", "{phase:?}: {seen:?}");
        let ids = ids_of(&peer.accepted()[before..]);
        // What was on its way when the sender died is taken by the server, which cannot know.
        let most = if matches!(phase, Phase::Body | Phase::Dot | Phase::Quit) {
            2
        } else {
            1
        };
        assert!((1..=most).contains(&ids.len()), "{phase:?}: {ids:?}");
        let expected = message_id(&db, id).await;
        assert!(
            ids.iter().all(|id| *id == expected),
            "{phase:?}: {ids:?}, not {expected}"
        );
    }
    let last = peer.accepted().len();
    assert!(
        last > Phase::ALL.len(),
        "no message was ever sent twice, so nothing was killed after its acceptance"
    );
}

#[tokio::test]
async fn a_commit_that_is_lost_after_the_acceptance_leads_to_a_second_copy() {
    let peer = Peer::start().await;
    let db = database().await;
    profile(&db, "mail", &plain(peer.port(), json!({}))).await;
    let _processor = Processor::start(&db).await;
    peer.hold(Some(Phase::Dot));
    let id = send(&db, "mail", &to("ok@test.example")).await;
    peer.wait_for_held(1).await;
    // Other sessions are idle in a transaction for a moment only.
    let held = "SELECT a.pid FROM pg_stat_activity AS a WHERE a.datname = current_database()
                AND a.state = 'idle in transaction' AND a.state_change < clock_timestamp() - interval '300 ms'";
    let pid = wait::until("the held transaction", wait::SOON, || async {
        let rows = db.rows(held, &[]).await;
        match rows.as_slice() {
            [only] => Ok(only.get::<_, i32>(0)),
            others => Err(format!("{} of them", others.len())),
        }
    })
    .await;
    let terminate = "SELECT pg_terminate_backend($1)";
    assert!(db.query_one::<bool>(terminate, &[&pid]).await);
    peer.hold(None);
    let seen = finished(&db, id).await;
    assert_eq!(seen.status, "sent", "{seen:?}");
    let expected = message_id(&db, id).await;
    wait::until("the second copy", wait::SOON, || async {
        let ids = ids_of(&peer.accepted());
        if ids == [expected.as_str(); 2] {
            Ok(())
        } else {
            Err(format!("{ids:?}"))
        }
    })
    .await;
    let attempts = attempts(&db, id).await;
    assert_eq!(
        attempts.len(),
        1,
        "the report of the first attempt went with its transaction: {attempts:?}"
    );
}
