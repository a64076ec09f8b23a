//! Whether there is a database to work with, as the control task sees it; workers wait here instead of trying for themselves.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open(u64),
}

/// The gate between the control task and the workers.
#[derive(Debug)]
pub struct Availability {
    state: watch::Sender<State>,
    epoch: std::sync::atomic::AtomicU64,
}

/// Leave to work with the database that was reachable when it was granted.
#[derive(Debug)]
pub struct Access {
    epoch: u64,
    state: watch::Receiver<State>,
}

impl Default for Availability {
    fn default() -> Self {
        Self::new()
    }
}

impl Availability {
    /// Closed.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: watch::Sender::new(State::Closed),
            epoch: std::sync::atomic::AtomicU64::new(0),
        }
    }

    /// Lets workers in. Every opening is a new epoch: sessions of an older one are given up.
    pub fn open(&self) {
        let epoch = self
            .epoch
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.state.send_replace(State::Open(epoch));
    }

    /// Keeps workers out; they finish what they hold and give up their sessions.
    pub fn close(&self) {
        self.state.send_replace(State::Closed);
    }

    /// Whether workers are let in.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self.state.borrow() != State::Closed
    }

    /// Waits for leave to work; `None` when the drain begins first.
    pub async fn granted(&self, drain: &CancellationToken) -> Option<Access> {
        let mut state = self.state.subscribe();
        let opened = state.wait_for(|state| matches!(state, State::Open(_)));
        let epoch = tokio::select! {
            () = drain.cancelled() => return None,
            opened = opened => match *opened.ok()? {
                State::Open(epoch) => epoch,
                State::Closed => return None,
            },
        };
        (!drain.is_cancelled()).then_some(Access { epoch, state })
    }
}

impl Access {
    /// Whether sessions opened under it are to be given up.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        *self.state.borrow() != State::Open(self.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::Availability;
    use tokio_util::sync::CancellationToken;

    #[tokio::test]
    async fn access_ends_when_the_gate_closes_or_opens_anew() {
        let gate = Availability::new();
        let drain = CancellationToken::new();
        gate.open();
        let first = gate.granted(&drain).await.expect("open");
        assert!(!first.has_ended());
        gate.open();
        assert!(first.has_ended());
        let second = gate.granted(&drain).await.expect("open");
        gate.close();
        assert!(second.has_ended());
        drain.cancel();
        assert!(gate.granted(&drain).await.is_none());
    }
}
