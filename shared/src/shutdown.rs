//! Signals, turned into things that tasks can wait for.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What every long-lived task of a daemon holds on to.
#[derive(Debug, Clone)]
pub struct Shutdown {
    /// Cancelled by the first SIGTERM or SIGINT: take nothing new, finish what is held.
    pub token: CancellationToken,
    /// Cancelled by the second one: give up what is held and be gone within two seconds.
    pub force: CancellationToken,
    /// Counts the tasks to wait for before the process may end.
    pub tracker: TaskTracker,
    /// Changes with every SIGHUP; the value is how many there were.
    pub reload: watch::Receiver<u64>,
}

impl Shutdown {
    /// Installs the handlers. Must be called inside a tokio runtime, and before the work starts: a
    /// signal that arrives earlier has its default effect.
    pub fn install() -> io::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        let hangup = signal(SignalKind::hangup())?;
        let (shutdown, reloads) = Self::without_signals();
        // Deliberately untracked: this task only ends with the process, so waiting for it would
        // never end.
        tokio::spawn(watch_signals(
            terminate,
            interrupt,
            hangup,
            shutdown.token.clone(),
            shutdown.force.clone(),
            reloads,
        ));
        Ok(shutdown)
    }

    /// The same without any handler, for one-shot commands and tests, with the sender that plays
    /// the part of SIGHUP.
    #[must_use]
    pub fn without_signals() -> (Self, watch::Sender<u64>) {
        let (reloads, reload) = watch::channel(0);
        let shutdown = Self {
            token: CancellationToken::new(),
            force: CancellationToken::new(),
            tracker: TaskTracker::new(),
            reload,
        };
        (shutdown, reloads)
    }
}

async fn watch_signals(
    mut terminate: Signal,
    mut interrupt: Signal,
    mut hangup: Signal,
    token: CancellationToken,
    force: CancellationToken,
    reloads: watch::Sender<u64>,
) {
    loop {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
            _ = hangup.recv() => {
                reloads.send_modify(|count| *count += 1);
                continue;
            }
        };
        if token.is_cancelled() {
            tracing::warn!("{name} again: giving up what is still held");
            force.cancel();
        } else {
            tracing::info!("{name}: draining; a second signal ends this at once");
            token.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Shutdown;
    use nix::sys::signal::{Signal, raise};
    use std::time::Duration;
    use tokio::time::timeout;

    const LIMIT: Duration = Duration::from_secs(5);

    #[tokio::test]
    async fn signals_reload_then_drain_then_force() {
        let mut shutdown = Shutdown::install().unwrap();

        raise(Signal::SIGHUP).unwrap();
        timeout(LIMIT, shutdown.reload.changed())
            .await
            .expect("SIGHUP was not seen")
            .unwrap();
        assert!(!shutdown.token.is_cancelled());

        raise(Signal::SIGTERM).unwrap();
        timeout(LIMIT, shutdown.token.cancelled())
            .await
            .expect("SIGTERM did not start the drain");
        assert!(!shutdown.force.is_cancelled());

        raise(Signal::SIGINT).unwrap();
        timeout(LIMIT, shutdown.force.cancelled())
            .await
            .expect("the second signal did not force the end");
    }
}
