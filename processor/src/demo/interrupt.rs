//! Signals that end a demo early.

use super::DemoError;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Remembers a signal from its making on, also while nobody waits.
#[derive(Debug)]
pub(super) struct Interrupt {
    sigint: Signal,
    sigterm: Signal,
    sighup: Signal,
}

impl Interrupt {
    pub(super) fn install() -> Result<Self, DemoError> {
        let install =
            |kind| signal(kind).map_err(DemoError::system("preparing for an interruption"));
        Ok(Self {
            sigint: install(SignalKind::interrupt())?,
            sigterm: install(SignalKind::terminate())?,
            sighup: install(SignalKind::hangup())?,
        })
    }

    /// The number of the signal that has arrived.
    pub(super) async fn next(&mut self) -> i32 {
        let kind = tokio::select! {
            _ = self.sigint.recv() => SignalKind::interrupt(),
            _ = self.sigterm.recv() => SignalKind::terminate(),
            _ = self.sighup.recv() => SignalKind::hangup(),
        };
        kind.as_raw_value()
    }
}
