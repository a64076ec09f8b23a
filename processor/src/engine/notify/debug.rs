//! The trace of notifications in debug mode: each step becomes a call of the notifier's `debug_log`, on a connection of its own and outside any
//! transaction, so that it can be seen while the send is in flight and after its attempt was rolled back.
//!
//! The trace is a convenience and the send is not: a worker only puts its steps into a channel. A task beside it connects when there is something to write,
//! writes the attempts one after the other, and gives up on one whose notifier does not answer.

use super::interface::Servable;
use crate::engine::error_text::storable;
use crate::engine::{Engine, registry};
use crate::transport::steps::Step;
use postgres_types::{ToSql, Type};
use shared::db::connect::Session;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::debug;

/// Attempts that may wait for their turn; those of a notifier that hangs are not worth more memory.
const WAITING_MAX: usize = 4;
/// Longest answer to one call.
const CALL_LIMIT: Duration = Duration::from_secs(2);
/// Longest time from the end of an attempt until its trace is complete, or given up.
const FLUSH_LIMIT: Duration = Duration::from_secs(5);
/// The connection is closed after this long without a step.
const IDLE_LIMIT: Duration = Duration::from_secs(1);

/// Takes the steps of one worker's attempts.
#[derive(Debug)]
pub struct DebugLog {
    traces: mpsc::Sender<Trace>,
    /// Tells the task that no more will come.
    _end: DropGuard,
}

/// The steps of one attempt.
struct Trace {
    notification: i64,
    call: String,
    steps: UnboundedReceiver<Step>,
}

/// Why a trace ends early.
enum GivenUp {
    NoAnswer,
    NoTimeLeft,
}

impl DebugLog {
    /// Starts the task, which ends once this value is dropped and what it took is written.
    #[must_use]
    pub fn spawn(engine: &Arc<Engine>) -> Self {
        let (sender, traces) = mpsc::channel(WAITING_MAX);
        let end = CancellationToken::new();
        let no_time_left = {
            let end = end.clone();
            async move {
                end.cancelled().await;
                tokio::time::sleep(FLUSH_LIMIT).await;
            }
        };
        let engine_of_task = Arc::clone(engine);
        engine.shutdown.tracker.spawn(async move {
            tokio::select! {
                () = write_all(&engine_of_task, traces) => {}
                () = no_time_left => debug!("the last traces are incomplete"),
            }
        });
        Self {
            traces: sender,
            _end: end.drop_guard(),
        }
    }

    /// Where the steps of an attempt at `notification` go; `None` while too many wait already.
    #[must_use]
    pub fn open(&self, notifier: &Servable, notification: i64) -> Option<UnboundedSender<Step>> {
        let (sender, steps) = mpsc::unbounded_channel();
        let call = format!("SELECT {}.debug_log($1, $2, $3)", notifier.schema);
        let trace = Trace {
            notification,
            call,
            steps,
        };
        self.traces.try_send(trace).is_ok().then_some(sender)
    }
}

async fn write_all(engine: &Engine, mut traces: mpsc::Receiver<Trace>) {
    let mut session: Option<Session> = None;
    loop {
        let next = if session.is_none() {
            traces.recv().await
        } else if let Ok(next) = tokio::time::timeout(IDLE_LIMIT, traces.recv()).await {
            next
        } else {
            close(&mut session).await;
            continue;
        };
        let Some(trace) = next else { break };
        let id = trace.notification;
        if write(engine, &mut session, trace).await.is_err() {
            // It may still be at work on the last call.
            session = None;
            debug!(
                notification.id = id,
                "the trace of notification {id} is incomplete"
            );
        }
    }
    close(&mut session).await;
}

async fn close(session: &mut Option<Session>) {
    if let Some(session) = session.take() {
        session.close().await;
    }
}

/// Writes one trace to its end. `Err`: the session is of no more use.
async fn write(
    engine: &Engine,
    session: &mut Option<Session>,
    mut trace: Trace,
) -> Result<(), GivenUp> {
    let mut ended: Option<Instant> = None;
    while let Some(Step { step, detail }) = trace.steps.recv().await {
        if trace.steps.is_closed() {
            let ended = ended.get_or_insert_with(Instant::now);
            if ended.elapsed() > FLUSH_LIMIT {
                return Err(GivenUp::NoTimeLeft);
            }
        }
        let client = match session.as_ref().filter(|s| !s.farewell.is_closed()) {
            Some(session) => &session.client,
            None => &session.insert(connect(engine).await?).client,
        };
        let detail = storable(&detail);
        let parameters: [(&(dyn ToSql + Sync), Type); 3] = [
            (&trace.notification, Type::INT8),
            (&step, Type::TEXT),
            (&detail, Type::TEXT),
        ];
        let called = client.query_typed(&trace.call, &parameters);
        match tokio::time::timeout(CALL_LIMIT, called).await {
            Ok(Ok(_)) => {}
            // It costs this step.
            Ok(Err(error)) if error.as_db_error().is_some() => debug!(
                db.sqlstate = error.code().map(tokio_postgres::error::SqlState::code),
                "debug_log() of the notifier failed"
            ),
            Ok(Err(_)) | Err(_) => return Err(GivenUp::NoAnswer),
        }
    }
    Ok(())
}

async fn connect(engine: &Engine) -> Result<Session, GivenUp> {
    let mut settings = registry::settings();
    for (name, value) in &mut settings {
        if matches!(*name, "statement_timeout" | "lock_timeout") {
            "1500".clone_into(value);
        }
    }
    let connect = engine
        .connector
        .connect("pg-relay-processor debug", &settings);
    match tokio::time::timeout(CALL_LIMIT, connect).await {
        Ok(Ok(session)) => Ok(session),
        Ok(Err(_)) | Err(_) => Err(GivenUp::NoAnswer),
    }
}
