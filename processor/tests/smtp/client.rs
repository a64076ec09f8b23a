//! One attempt of the transport, with what can be seen of it from outside.

use crate::peer::Peer;
use pg_relay_processor::transport::document::Fields;
use pg_relay_processor::transport::secrets::Secrets;
use pg_relay_processor::transport::smtp;
use pg_relay_processor::transport::steps::{Step, Steps};
use pg_relay_processor::transport::{Failure, Sent};
use serde_json::{Value, json};
use shared::failure::{Class, Evidence, Network, Phase};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The limit of attempts that are to reach it.
pub(crate) const SHORT: Duration = Duration::from_millis(400);
/// The limit of those that are not.
pub(crate) const LONG: Duration = Duration::from_mins(1);
/// What the variable of the profile holds.
pub(crate) const PASSWORD: &str = "p@:/%+ü tr0ub4dor 日本";

/// What came of an attempt.
pub(crate) struct Attempt {
    pub(crate) result: Result<Sent, Failure>,
    pub(crate) elapsed: Duration,
    pub(crate) steps: Vec<Step>,
}

impl Attempt {
    pub(crate) fn sent(&self) -> &Sent {
        self.result
            .as_ref()
            .unwrap_or_else(|failure| panic!("{failure:?}"))
    }

    pub(crate) fn failure(&self) -> &Failure {
        match &self.result {
            Ok(sent) => panic!("sent: {sent:?}"),
            Err(failure) => failure,
        }
    }

    pub(crate) fn class(&self) -> Class {
        self.failure().class()
    }

    /// Phase and code of a refusal.
    pub(crate) fn refusal(&self) -> (Phase, u16) {
        match &self.failure().evidence {
            Evidence::Smtp { phase, reply } => (*phase, reply.code),
            other => panic!("{other:?}: {:?}", self.failure()),
        }
    }

    pub(crate) fn network(&self) -> Network {
        match &self.failure().evidence {
            Evidence::Network(network) => *network,
            other => panic!("{other:?}: {:?}", self.failure()),
        }
    }
}

/// A profile for `peer`, without TLS unless `keys` say so.
pub(crate) fn profile(peer: &Peer, keys: &Value) -> Value {
    let mut profile = json!({
        "host": "127.0.0.1", "port": peer.port, "security": "none", "from": "App <app@example.org>", "helo_name": "app.example.org",
    });
    for (key, value) in keys.as_object().unwrap() {
        profile[key] = value.clone();
    }
    profile
}

/// A login with the password.
pub(crate) fn login(auth: &str) -> Value {
    json!({"username": "user", "password": "_env:PASSWORD", "auth": auth})
}

pub(crate) fn letter() -> Value {
    json!({"to": "a@example.org", "subject": "Subject of the letter", "text": "Body of the letter\n"})
}

/// Sends `letter()`.
pub(crate) async fn send(peer: &Peer, keys: &Value, limit: Duration) -> Attempt {
    attempt(&profile(peer, keys), &letter(), limit).await
}

pub(crate) async fn attempt(profile: &Value, message: &Value, limit: Duration) -> Attempt {
    attempt_with(PASSWORD, profile, message, limit).await
}

pub(crate) async fn attempt_with(
    password: &'static str,
    profile: &Value,
    message: &Value,
    limit: Duration,
) -> Attempt {
    let secrets = Secrets::new(|_| true, |_| Some(password.to_owned().into()));
    let resolved = secrets.resolve(profile).unwrap();
    let (profile, message) = (
        Fields::of_profile(profile, &resolved).unwrap(),
        Fields::of_message(message).unwrap(),
    );
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let steps = Steps::new(1, Some(sender));
    let began = Instant::now();
    let result = smtp::send(1, &profile, &message, began + limit, &steps).await;
    let elapsed = began.elapsed();
    drop(steps);
    let mut noted = Vec::new();
    while let Some(step) = receiver.recv().await {
        noted.push(step);
    }
    Attempt {
        result,
        elapsed,
        steps: noted,
    }
}
