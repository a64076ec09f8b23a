//! A server that takes a whole message and then says nothing may have accepted it: that is transient, said to be so, and sent again under the same Message-ID.

use fleet_tests::mail::sink::Sink;
use fleet_tests::processor::Processor;
use fleet_tests::skip;
use serde_json::json;

use crate::mail_steps::{database, finished, log_of, message_id, plain, profile, send, to};
use crate::notifier_db::attempts;

#[tokio::test]
async fn whether_the_server_is_slow_or_leaves() {
    let [directory, place] = Sink::KEEP;
    let mut sinks = Vec::new();
    for (name, misbehaviour) in [("slow", ["-W", ".:4"]), ("gone", ["-q", "."])] {
        let [option, value] = misbehaviour;
        match Sink::start(&[directory, place, option, value]).await {
            Ok(sink) => sinks.push((name, sink)),
            Err(why) => skip!("mail", "{why}"),
        }
    }
    let db = database().await;
    let mut sent = Vec::new();
    for (name, sink) in &sinks {
        let settings = plain(sink.port(), json!({"timeout_seconds": 1}));
        profile(&db, name, &settings).await;
        sent.push(send(&db, name, &to("ok@test.example")).await);
    }
    let _processor = Processor::start(&db).await;
    for ((name, sink), id) in sinks.iter().zip(sent) {
        let seen = finished(&db, id).await;
        let result = (seen.status.as_str(), seen.attempts);
        assert_eq!(result, ("failed", 3), "{name}: {seen:?}");
        for (number, _, detail) in attempts(&db, id).await {
            let detail = detail.unwrap_or_default();
            assert!(
                detail.contains("outcome is unknown"),
                "{name} {number:?}: {detail}"
            );
        }
        for (status, _, error) in log_of(&db, id).await {
            let error = error.unwrap_or_default();
            assert!(
                error.contains("outcome is unknown"),
                "{name} {status}: {error}"
            );
        }
        let kept = sink.kept();
        assert_eq!(kept.len(), 3, "{name}: {kept:#?}");
        let id = format!("Message-ID: <{}>", message_id(&db, id).await);
        for message in kept {
            assert!(
                message.lines().any(|line| line.trim_end() == id),
                "{name}: no {id} in\n{message}"
            );
        }
    }
}
