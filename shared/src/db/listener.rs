//! A session that does nothing but listen, and comes back whenever it is lost.

mod run;

use super::connect::Connector;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A reason to look at the tables again. It carries no truth: the tables do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WakeUp {
    /// Somebody used NOTIFY.
    Topic {
        /// The name listened to.
        topic: String,
        /// The payload, often empty.
        payload: String,
    },
    /// The listening has begun, or begun again, or wake-ups came faster than they were taken.
    /// Anything may have been missed.
    Connected,
}

/// Wake-ups for the topics of one component.
#[derive(Debug)]
pub struct Listener {
    /// Ends only after the token of [`Listener::spawn`] is cancelled.
    pub wake_ups: mpsc::Receiver<WakeUp>,
    handle: ListenerHandle,
}

/// Access to the listening session, for locks that live as long as it does.
#[derive(Debug, Clone)]
pub struct ListenerHandle {
    current: watch::Receiver<Option<Arc<Client>>>,
}

/// Wake-ups waiting to be taken. More than this and a single [`WakeUp::Connected`] stands for them.
const BACKLOG: usize = 1_024;

impl Listener {
    /// Starts to listen to `topics` in a session of its own, and goes on until `token` is
    /// cancelled, through every loss of the connection.
    #[must_use]
    pub fn spawn(
        connector: Connector,
        app: &str,
        topics: Vec<String>,
        token: CancellationToken,
        tracker: &TaskTracker,
    ) -> Self {
        let (wake_ups, receiver) = mpsc::channel(BACKLOG);
        let (publish, current) = watch::channel(None);
        let listening = run::Listening {
            connector,
            app: app.to_owned(),
            topics,
            wake_ups,
            current: publish,
            token,
        };
        tracker.spawn(listening.run());
        Self {
            wake_ups: receiver,
            handle: ListenerHandle { current },
        }
    }

    /// The listening session, or `None` while it is lost. Statements on it must be short and must
    /// not open a transaction: while one is open the server holds back all wake-ups.
    #[must_use]
    pub fn client(&self) -> Option<Arc<Client>> {
        self.handle.client()
    }

    /// Access that can be given away.
    #[must_use]
    pub fn handle(&self) -> ListenerHandle {
        self.handle.clone()
    }
}

impl ListenerHandle {
    /// See [`Listener::client`].
    #[must_use]
    pub fn client(&self) -> Option<Arc<Client>> {
        self.current.borrow().clone()
    }

    /// Waits for the session to be there; `None` once the listener has ended for good.
    pub async fn connected(&self) -> Option<Arc<Client>> {
        let mut current = self.current.clone();
        match current.wait_for(Option::is_some).await {
            Ok(client) => client.clone(),
            Err(_) => None,
        }
    }
}
