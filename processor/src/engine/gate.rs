//! Opening and closing the gate to the database, with what belongs to an open one: the listener and the task that hands its wake-ups on.

use super::{Engine, TOPIC_CONTROL, TOPIC_NOTIFY, TOPIC_SQL};
use shared::db::listener::{Listener, WakeUp};
use shared::systemd;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// The control task's hand on [`Availability`](super::availability::Availability).
pub struct Gate {
    engine: Arc<Engine>,
    /// Wakes the control task.
    look: Arc<Notify>,
    /// Ends listener and forwarder of the present access.
    access: Option<CancellationToken>,
    /// The reason last given for a closed gate.
    said: String,
}

impl Gate {
    /// A closed gate; `look` wakes the control task when its topic speaks.
    pub fn new(engine: Arc<Engine>, look: Arc<Notify>) -> Self {
        Self {
            engine,
            look,
            access: None,
            said: String::new(),
        }
    }

    /// Whether workers are let in.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.access.is_some()
    }

    /// Lets the workers in, with a listener of their own.
    pub fn open(&mut self) {
        if self.access.is_some() {
            return;
        }
        let engine = &self.engine;
        let token = engine.shutdown.token.child_token();
        let topics = [TOPIC_SQL, TOPIC_NOTIFY, TOPIC_CONTROL];
        let listener = Listener::spawn(
            engine.connector.clone(),
            "pg-relay-processor listener",
            topics.map(str::to_owned).to_vec(),
            token.clone(),
            &engine.shutdown.tracker,
        );
        engine.set_listener(Some(listener.handle()));
        engine.shutdown.tracker.spawn(forward(
            Arc::clone(engine),
            listener,
            Arc::clone(&self.look),
        ));
        engine.availability.open();
        self.access = Some(token);
        self.said.clear();
        info!(processor.id = %engine.id, "processor {} works with {}", engine.id, engine.connector.target());
        systemd::status("running");
    }

    /// Keeps the workers out and says why, once for each reason.
    pub fn close(&mut self, reason: &str) {
        self.engine.availability.close();
        self.engine.set_listener(None);
        // Who sleeps holds a session, too.
        self.engine.sql.wake();
        self.engine.notify.wake();
        if let Some(access) = self.access.take() {
            access.cancel();
        }
        if self.engine.shutdown.token.is_cancelled() {
            self.engine.shutdown.force.cancel();
        }
        if self.said != reason {
            reason.clone_into(&mut self.said);
            warn!("no work for now, looking again every second: {reason}");
            systemd::status(&format!("waiting: {reason}"));
        }
    }
}

/// Hands wake-ups to whom they concern.
async fn forward(engine: Arc<Engine>, mut listener: Listener, look: Arc<Notify>) {
    while let Some(wake_up) = listener.wake_ups.recv().await {
        match wake_up {
            WakeUp::Topic { topic, .. } => match topic.as_str() {
                TOPIC_SQL => engine.sql.wake(),
                TOPIC_NOTIFY => engine.notify.wake(),
                _ => look.notify_one(),
            },
            // Anything may have been missed meanwhile.
            WakeUp::Connected => {
                engine.sql.wake();
                engine.notify.wake();
                look.notify_one();
            }
        }
    }
}
