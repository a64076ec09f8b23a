//! The loops behind [`Listener`](super::Listener): the outer one reconnects, the inner one is one
//! session.

use super::WakeUp;
use crate::backoff::Backoff;
use crate::db::connect::{Connector, Farewell, Session};
use crate::db::error_chain::ErrorChain;
use crate::logging::repeat::Repeats;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_postgres::{Client, Notification};
use tokio_util::sync::CancellationToken;

/// Proxies and firewalls cut connections that stay silent, some within a minute, without a word.
const PING_EVERY: Duration = Duration::from_secs(10);
/// For one statement of ours on the listening session; each is trivial for a server that is there.
const STATEMENT_LIMIT: Duration = Duration::from_secs(5);
const BACKOFF_FIRST: Duration = Duration::from_millis(100);
/// Short enough that a promotion is noticed about as fast as by a look per second.
const BACKOFF_MAX: Duration = Duration::from_secs(2);

pub(super) struct Listening {
    pub(super) connector: Connector,
    pub(super) app: String,
    pub(super) topics: Vec<String>,
    pub(super) wake_ups: mpsc::Sender<WakeUp>,
    pub(super) current: watch::Sender<Option<Arc<Client>>>,
    pub(super) token: CancellationToken,
}

/// Why one session did not go on, in words for the log.
type Loss = String;

impl Listening {
    pub(super) async fn run(self) {
        let token = self.token.clone();
        token.run_until_cancelled(self.reconnect_for_ever()).await;
        // The session ended with the cancelled loop; nobody is to find it here afterwards.
        self.current.send_replace(None);
    }

    async fn reconnect_for_ever(&self) {
        let mut backoff = Backoff::new(BACKOFF_FIRST, BACKOFF_MAX);
        let mut repeats = Repeats::new();
        let mut lost_at = None;
        loop {
            let loss = match self.begin().await {
                Ok(session) => {
                    self.say_connected(lost_at.take());
                    repeats.reset();
                    // Only now: a server that accepts the login and nothing else is not yet back.
                    backoff.reset();
                    let loss = self.serve(session).await;
                    self.current.send_replace(None);
                    loss
                }
                Err(loss) => loss,
            };
            lost_at.get_or_insert_with(Instant::now);
            say_lost(&mut repeats, &loss);
            tokio::time::sleep(backoff.next()).await;
        }
    }

    /// Opens a session and listens; LISTEN is a transaction of its own, so none stays open.
    async fn begin(&self) -> Result<Session, Loss> {
        let session = self
            .connector
            .connect(&self.app, &[])
            .await
            .map_err(|error| error.to_string())?;
        let statements: Vec<String> = self
            .topics
            .iter()
            .map(|topic| format!("LISTEN {}", quoted_identifier(topic)))
            .collect();
        match limited(session.client.batch_execute(&statements.join("; "))).await {
            Ok(()) => Ok(session),
            Err(loss) => Err(format!("LISTEN on {}: {loss}", session.host)),
        }
    }

    async fn serve(&self, session: Session) -> Loss {
        let Session {
            client,
            mut notifications,
            farewell,
            // Bound, because dropping the driver ends the session.
            driver: _driver,
            ..
        } = session;
        let client = Arc::new(client);
        self.current.send_replace(Some(Arc::clone(&client)));
        let mut pings = interval(PING_EVERY);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        pings.reset();
        let mut missed = true;
        loop {
            tokio::select! {
                permit = self.wake_ups.reserve(), if missed => {
                    // Without a receiver the listener still holds the session for its locks.
                    if let Ok(permit) = permit {
                        permit.send(WakeUp::Connected);
                    }
                    missed = false;
                }
                notification = notifications.recv() => match notification {
                    Some(notification) => missed |= self.pass_on(&notification).is_break(),
                    None => return parting_words(&farewell),
                },
                () = farewell.closed() => return parting_words(&farewell),
                _ = pings.tick() => if let Err(loss) = limited(client.batch_execute("SELECT 1")).await {
                    return format!("ping: {loss}");
                },
            }
        }
    }

    /// Hands a wake-up over; breaks when there was no room for it.
    fn pass_on(&self, notification: &Notification) -> ControlFlow<()> {
        let wake_up = WakeUp::Topic {
            topic: notification.channel().to_owned(),
            payload: notification.payload().to_owned(),
        };
        match self.wake_ups.try_send(wake_up) {
            Ok(()) | Err(TrySendError::Closed(_)) => ControlFlow::Continue(()),
            Err(TrySendError::Full(_)) => ControlFlow::Break(()),
        }
    }

    fn say_connected(&self, lost_at: Option<Instant>) {
        let target = self.connector.target();
        match lost_at {
            None => tracing::info!("listening on {target}"),
            Some(lost_at) => {
                let seconds = lost_at.elapsed().as_secs_f32();
                tracing::info!("listening on {target} again, after {seconds:.1} s");
            }
        }
    }
}

fn say_lost(repeats: &mut Repeats, loss: &str) {
    match repeats.observe(loss) {
        None => {}
        Some(1) => tracing::warn!("not listening: {loss}; trying again"),
        Some(times) => tracing::warn!("still not listening after {times} tries: {loss}"),
    }
}

async fn limited(
    statement: impl Future<Output = Result<(), tokio_postgres::Error>>,
) -> Result<(), Loss> {
    match timeout(STATEMENT_LIMIT, statement).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(ErrorChain(&error).to_string()),
        Err(_) => Err(format!("no answer within {STATEMENT_LIMIT:?}")),
    }
}

fn parting_words(farewell: &Farewell) -> Loss {
    match farewell.sqlstate() {
        Some(state) => format!("the server ended the session ({})", state.code()),
        None => "the connection was lost".to_owned(),
    }
}

fn quoted_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::quoted_identifier;

    #[test]
    fn topics_are_quoted_so_that_case_and_odd_characters_survive() {
        assert_eq!(quoted_identifier("Pgrelay.wake"), "\"Pgrelay.wake\"");
        assert_eq!(quoted_identifier("a\"b"), "\"a\"\"b\"");
    }
}
