//! The steps of a send, for notifications in debug mode and for the log at TRACE.

use tokio::sync::mpsc::UnboundedSender;

/// One step, for `debug_log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was done, such as `connect`.
    pub step: &'static str,
    /// What came of it; no content, address or secret.
    pub detail: String,
}

/// Takes steps down without ever holding up the send.
#[derive(Debug, Clone)]
pub struct Steps {
    notification: i64,
    debug: Option<UnboundedSender<Step>>,
}

impl Steps {
    /// For notification `notification`; `debug` receives the steps of one in debug mode.
    #[must_use]
    pub const fn new(notification: i64, debug: Option<UnboundedSender<Step>>) -> Self {
        Self {
            notification,
            debug,
        }
    }

    /// A step was made.
    pub fn note(&self, step: &'static str, detail: impl Into<String>) {
        let detail = detail.into();
        tracing::trace!(
            notification.id = self.notification,
            "notification {}: {step}: {detail}",
            self.notification
        );
        if let Some(debug) = &self.debug {
            // Nobody listens any more: the trace is a convenience, the send is not.
            debug.send(Step { step, detail }).ok();
        }
    }
}
