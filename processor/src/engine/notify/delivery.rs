//! One claimed notify event, from the claim to COMMIT: is there a notifier, fetch, send, verdict, settlement.

use super::Turn;
use super::conclusion::Conclusion;
use super::debug::DebugLog;
use super::fetch::{Fetched, Wrong, fetch};
use super::interface::{Interface, Servable};
use super::record::{self, Addressee, Record, Settled};
use super::send::send;
use super::snapshot::Known;
use crate::engine::event::{CRASHES_MAX, Event, Refusal};
use crate::engine::session::WorkerSession;
use crate::engine::step::StepError;
use crate::engine::{Engine, report};
use crate::transport::Notification;
use crate::transport::steps::Steps;
use shared::failure::Class;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// The parts of a worker that a delivery needs.
pub struct Delivery<'a> {
    /// What the workers share.
    pub engine: &'a Engine,
    /// The worker's session, whose transaction has claimed the event.
    pub session: &'a mut WorkerSession,
    /// Where traces go.
    pub debug: &'a DebugLog,
    /// The lane of the event.
    pub lane: Option<i64>,
    /// Whether code of the notifier runs in the session: if the session is lost then, that may be its doing.
    pub at_risk: bool,
}

/// What stands behind a conclusion.
enum Concluded {
    /// To be recorded, and told to the notifier if it can be.
    As(Conclusion, Option<Arc<Servable>>),
    /// The copy that the Processor went by is outdated: nothing is concluded.
    Withheld,
    /// The notifier cannot be asked just now, for this reason: nothing is concluded.
    Postponed(String),
}

impl Delivery<'_> {
    /// Resolves `event`. Nothing of it is written while the notifier may have changed: then the claim is let go until the Processor has reloaded. Nor when the
    /// notifier cannot be asked just now: then the event is left alone for a while.
    pub async fn run(&mut self, event: &Event) -> Result<Turn, StepError> {
        let began = Instant::now();
        if event.refusal == Some(Refusal::WrongLane) {
            record::move_lane(self.engine, self.session, event.id).await?;
            return Ok(Turn::Worked);
        }
        // One that lost its session once more when the notifier was to be told of its end has had its chance.
        let id = notification_id(event).filter(|_| event.crashes <= CRASHES_MAX);
        let known = self.engine.notifier.known();
        let concluded = match id {
            None => Concluded::As(unaddressed(event), None),
            Some(id) => self.conclude(event, id, &known, began).await?,
        };
        match concluded {
            Concluded::As(conclusion, notifier) => {
                self.engine.postponed.over(event.id);
                self.settle(event, id, conclusion, notifier.as_deref())
                    .await?;
                Ok(Turn::Worked)
            }
            Concluded::Withheld => {
                self.session.rollback().await?;
                self.engine.notify.floor.lower(event.key());
                self.engine.notifier.outdated(&known);
                self.engine.notifier.renewed(&known).await;
                Ok(Turn::Worked)
            }
            Concluded::Postponed(problem) => {
                self.session.rollback().await?;
                self.engine.notify.floor.lower(event.key());
                let postponed = &self.engine.postponed;
                if let Some(times) = postponed.postpone(event.id, self.lane, &problem) {
                    report::postponed(event, id, times, &problem);
                }
                Ok(Turn::Postponed)
            }
        }
    }

    async fn conclude(
        &mut self,
        event: &Event,
        id: i64,
        known: &Known,
        began: Instant,
    ) -> Result<Concluded, StepError> {
        let Some(notifier) = known.interface.servable() else {
            return match self.look_again(began).await? {
                Interface::Servable(_) => Ok(Concluded::Withheld),
                confirmed => Ok(unservable(event, &confirmed)),
            };
        };
        let notifier = Arc::clone(notifier);
        if let Some(conclusion) = refused(event) {
            return Ok(Concluded::As(conclusion, Some(notifier)));
        }
        let (notification, debug) = match self.ask(event, id, known, &notifier).await? {
            ControlFlow::Continue(found) => found,
            ControlFlow::Break(concluded) => return Ok(concluded),
        };
        let trace = debug.then(|| self.debug.open(&notifier, id)).flatten();
        let steps = Steps::new(id, trace);
        let attempt = event.attempt();
        steps.note("claim", format!("event {}, attempt {attempt}", event.id));
        steps.note("fetch", "found");
        let attempted = send(self.engine, self.session, &notification, began, &steps).await?;
        let conclusion = Conclusion::of_attempt(event, &notification.transport, attempted);
        steps.note("verdict", conclusion.describe());
        Ok(Concluded::As(
            conclusion.after(began.elapsed()),
            Some(notifier),
        ))
    }

    /// Fetches the notification. A notifier that breaks its contract is looked at again before that is held against the event.
    async fn ask(
        &mut self,
        event: &Event,
        id: i64,
        known: &Known,
        notifier: &Arc<Servable>,
    ) -> Result<ControlFlow<Concluded, (Box<Notification>, bool)>, StepError> {
        let began = Instant::now();
        self.at_risk = true;
        let fetched = fetch(self.session, notifier, id).await?;
        self.at_risk = false;
        let wrong = match fetched {
            Fetched::Found(notification, debug) => {
                return Ok(ControlFlow::Continue((notification, debug)));
            }
            Fetched::Unknown => Wrong {
                class: Class::Permanent,
                sqlstate: None,
                problem: "the notifier knows no notification of this id".to_owned(),
            },
            // Before any send, and nobody's fault but the notifier's.
            Fetched::Wrong(wrong) if wrong.class == Class::Transient => {
                return Ok(ControlFlow::Break(Concluded::Postponed(wrong.problem)));
            }
            Fetched::Wrong(wrong) => match self.look_again(Instant::now()).await? {
                now if now == known.interface => wrong,
                Interface::Servable(_) => return Ok(ControlFlow::Break(Concluded::Withheld)),
                confirmed => {
                    self.engine.notifier.outdated(known);
                    return Ok(ControlFlow::Break(unservable(event, &confirmed)));
                }
            },
        };
        let conclusion = Conclusion::unsent(wrong.sqlstate, &wrong.problem);
        Ok(ControlFlow::Break(Concluded::As(
            conclusion.after(began.elapsed()),
            Some(Arc::clone(notifier)),
        )))
    }

    async fn look_again(&mut self, since: Instant) -> Result<Interface, StepError> {
        self.at_risk = true;
        let client = self.session.client();
        let interface = self.engine.notifier.look_again(client, since).await?;
        self.at_risk = false;
        Ok(interface)
    }

    async fn settle(
        &mut self,
        event: &Event,
        id: Option<i64>,
        mut conclusion: Conclusion,
        notifier: Option<&Servable>,
    ) -> Result<(), StepError> {
        let addressee = id
            .zip(notifier)
            .map(|(id, notifier)| Addressee { notifier, id });
        let mut record = Record::new(self.engine, event, &mut conclusion, addressee);
        self.at_risk = record.calls_notifier();
        let settled = record.settle(self.session).await?;
        self.at_risk = false;
        match settled {
            Settled::Recorded => {}
            Settled::EndedElsewhere => report::ended_elsewhere(event),
            Settled::Dropped => {
                report::verdict_dropped(event);
                return Ok(());
            }
        }
        report::notification(self.engine, event, id, &conclusion);
        Ok(())
    }
}

/// The id that is the payload, exactly as PostgreSQL writes a bigint: no blanks, no plus sign, no leading zeros.
fn notification_id(event: &Event) -> Option<i64> {
    let payload = event.payload.as_deref()?;
    payload
        .parse()
        .ok()
        .filter(|id: &i64| id.to_string() == payload)
}

/// Why there is no attempt, where the claim says so.
fn refused(event: &Event) -> Option<Conclusion> {
    match &event.refusal {
        Some(Refusal::Resolve { verdict, reason }) => {
            Some(Conclusion::without_attempt(*verdict, reason))
        }
        Some(Refusal::WrongLane) | None => None,
    }
}

/// What becomes of an event that names no notification. Expired and invalid events are that, whatever their payload.
fn unaddressed(event: &Event) -> Conclusion {
    refused(event).unwrap_or_else(|| {
        let reason = "the payload is not a notification id";
        Conclusion::unsent(None, reason)
    })
}

/// What becomes of an event whose notifier cannot be called.
fn unservable(event: &Event, interface: &Interface) -> Concluded {
    if let Some(conclusion) = refused(event) {
        return Concluded::As(conclusion, None);
    }
    match interface.cause() {
        (Class::Transient, cause) => Concluded::Postponed(cause),
        (Class::Permanent, cause) => {
            let conclusion = Conclusion::unsent(None, &cause);
            Concluded::As(conclusion, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::notification_id;
    use crate::engine::event::{Action, Event};
    use crate::engine::wire::Timestamp;

    fn event(payload: Option<&str>) -> Event {
        Event {
            id: 1,
            run_at: Timestamp(0),
            channel: "mail".to_owned(),
            retry_count: 0,
            deduplicate: false,
            twin_key: 0,
            payload: payload.map(str::to_owned),
            payload_is_large: payload.is_none(),
            action: Action {
                sql: String::new(),
                max_retries: 0,
                timeout_ms: 0,
                batch: false,
            },
            crashes: 0,
            refusal: None,
            claimed_at: Timestamp(0),
        }
    }

    #[test]
    fn an_id_is_what_postgresql_writes_and_nothing_else() {
        for id in [0, 1, -1, i64::MAX, i64::MIN] {
            let text = id.to_string();
            assert_eq!(notification_id(&event(Some(&text))), Some(id));
        }
        for text in [
            "",
            " 1",
            "1 ",
            "+1",
            "01",
            "-0",
            "1.0",
            "1e3",
            "0x10",
            "1_000",
            "١",
            "9223372036854775808",
            "null",
            "{\"id\": 1}",
        ] {
            assert_eq!(notification_id(&event(Some(text))), None, "{text:?}");
        }
        assert_eq!(notification_id(&event(None)), None);
    }
}
