//! The conversation with the service manager. Every call does nothing when there is none.

use sd_notify::NotifyState;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The service has started.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The service is on its way down.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// One line for `systemctl status`.
pub fn status(line: &str) {
    tell(&[NotifyState::Status(line)]);
}

/// How often the service manager wants a sign of life, or `None` when it does not watch.
///
/// This is half of `WatchdogSec=`, as sd_watchdog_enabled(3) advises.
#[must_use]
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled()
        .map(|limit| limit / 2)
        .filter(|interval| !interval.is_zero())
}

/// Gives signs of life until `token` is cancelled; starts nothing when nobody watches.
///
/// The signs come from a task of the same runtime as the work, so a runtime whose threads are all
/// stuck is noticed and restarted. Pass a token that outlives the drain (`Shutdown::force`, or one
/// cancelled last): a process that is still finishing its work is alive.
pub fn spawn_watchdog(token: CancellationToken, tracker: &TaskTracker) {
    let Some(interval) = watchdog_interval() else {
        return;
    };
    tracker.spawn(async move {
        loop {
            tell(&[NotifyState::Watchdog]);
            tokio::select! {
                () = token.cancelled() => return,
                () = tokio::time::sleep(interval) => {}
            }
        }
    });
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        // Nothing depends on the message, and a service manager that is gone cannot be helped.
        tracing::debug!("service manager not reached: {error}");
    }
}
