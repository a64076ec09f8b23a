//! Preflights and reloads.

use super::{Control, Ended, LIMIT, Left};
use crate::engine::registry;
use crate::engine::step::within;
use crate::preflight;
use shared::db::connect::Session;
use std::time::{Duration, Instant};
use tracing::{error, info, warn};

/// Reloads because of the notifier are this far apart: each costs every worker its session, and one that looks different every time must not cost sql
/// events more than that.
const FOLLOW_EVERY: Duration = Duration::from_secs(5);

impl Control {
    /// Takes down the generation that the preflight about to be made belongs to: what is requested from here on calls for another.
    pub(super) async fn note_generation(&mut self, session: &Session) {
        let look = registry::controls(session, self.engine.id, self.registered);
        // No answer: the preflight says why.
        let controls = self.unless_draining(within(LIMIT, look)).await.ok();
        self.reload_generation = controls.map(|controls| controls.reload_generation);
    }

    /// Whether somebody asked for a reload, or a worker found that the notifier is not what it was.
    pub(super) fn has_to_reload(&mut self, generation: i64) -> bool {
        let before = self.reload_generation.replace(generation);
        if before.is_some_and(|before| before != generation) {
            info!("reload requested: preflight and new sessions");
            true
        } else if self.engine.notifier.is_outdated()
            && self
                .followed_notifier
                .is_none_or(|then| then.elapsed() >= FOLLOW_EVERY)
        {
            self.followed_notifier = Some(Instant::now());
            info!("the notifier has changed: preflight and new sessions");
            true
        } else {
            false
        }
    }

    /// Preflight, new sessions, and a look for work.
    pub(super) async fn reload(&mut self) -> Option<Left> {
        match self.preflight().await {
            Ok(true) => return Some(Left::For(Ended::Blocked)),
            Ok(false) => self.engine.availability.open(),
            // The gate is closed; the next session begins with a preflight.
            Err(()) => return Some(Left::Unwelcome("the preflight was cut short")),
        }
        self.engine.sql.wake();
        self.engine.notify.wake();
        None
    }

    /// Whether a finding blocks; `Err` when the database could not be asked.
    pub(super) async fn preflight(&mut self) -> Result<bool, ()> {
        let seen = match preflight::run(&self.engine.connector).await {
            Ok(seen) => seen,
            Err(problem) => {
                self.gate.close(&problem.to_string());
                return Err(());
            }
        };
        if let Some(notifier) = seen.notifier {
            self.engine.notifier.publish(notifier);
        }
        for finding in &seen.findings {
            let text = finding.text();
            match finding.severity {
                preflight::Severity::Blocking => error!(finding = finding.code, "{text}"),
                preflight::Severity::Warning => warn!(finding = finding.code, "{text}"),
            }
        }
        Ok(preflight::any_blocks(&seen.findings))
    }
}
