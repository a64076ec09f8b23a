//! An open session and the task that drives it.

use super::Farewell;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Connection, Notification};

/// An open session with a primary. Dropping it ends the session at once, without a word to the
/// server, which then rolls an open transaction back.
#[derive(Debug)]
pub struct Session {
    /// Runs statements.
    pub client: Client,
    /// What the topics this session listens to say.
    pub notifications: mpsc::UnboundedReceiver<Notification>,
    /// Whether the session is over, and why.
    pub farewell: Arc<Farewell>,
    /// Whether the settings went in as start-up options. When a proxy refused or dropped them they
    /// were SET instead: RESET ALL would then lose them.
    pub startup_settings_honoured: bool,
    /// The process id of the backend, asked of the server itself: a proxy invents its own.
    pub backend_pid: i32,
    /// Host and port, or the socket, that this session is with.
    pub host: String,
    /// Keeps the session going; dropping it ends it.
    pub driver: Driver,
}

/// The task that moves bytes between client and server; dropping it ends the session.
#[derive(Debug)]
pub struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Session {
    /// Says goodbye to the server and waits for a second at most until it is heard. The session
    /// then vanishes from pg_stat_activity without a complaint in the server's log.
    pub async fn close(self) {
        const LIMIT: Duration = Duration::from_secs(1);
        let Self {
            client, mut driver, ..
        } = self;
        // The driver sends what is queued, then the goodbye, once the client is gone.
        drop(client);
        if tokio::time::timeout(LIMIT, &mut driver.0).await.is_err() {
            tracing::debug!("the server did not take the goodbye within {LIMIT:?}");
        }
    }
}

impl Driver {
    /// Starts to drive `connection` on a task of its own.
    pub(super) fn spawn<S, T>(
        connection: Connection<S, T>,
        farewell: Arc<Farewell>,
    ) -> (Self, mpsc::UnboundedReceiver<Notification>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, receiver) = mpsc::unbounded_channel();
        let task = tokio::spawn(drive(connection, farewell, sender));
        (Self(task), receiver)
    }
}

/// Marks the session as over however its driver ends; being aborted is one of the ways.
struct EndMark(Arc<Farewell>);

impl Drop for EndMark {
    fn drop(&mut self) {
        self.0.close();
    }
}

// Awaiting the connection itself would throw notifications away.
async fn drive<S, T>(
    mut connection: Connection<S, T>,
    farewell: Arc<Farewell>,
    notifications: mpsc::UnboundedSender<Notification>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let end = EndMark(farewell);
    loop {
        match poll_fn(|cx| connection.poll_message(cx)).await {
            Some(Ok(AsyncMessage::Notification(notification))) => {
                // An owner that dropped the receiver does not want to hear of topics.
                if notifications.send(notification).is_err() {
                    tracing::trace!("a notification that nobody waits for");
                }
            }
            // Never logged: application code puts whatever it likes into a notice.
            Some(Ok(AsyncMessage::Notice(notice))) => end.0.hear(&notice),
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                end.0.note(&error);
                return;
            }
            None => return,
        }
    }
}
