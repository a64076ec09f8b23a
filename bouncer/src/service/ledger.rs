//! The lines about what was bounced: the first at once, what follows closely in one line for all of it.

use crate::ingress::{Batch, Moved, Refusals};
use crate::report::{BounceError, Tally};
use shared::logging::repeat::Repeats;
use shared::systemd;
use std::time::{Duration, Instant};
use tracing::{debug, info, warn};

/// Between two lines. A message is one word in the journal each; fifty thousand are not fifty thousand lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// What was bounced and not yet told.
#[derive(Debug)]
pub(super) struct Ledger {
    stage: String,
    untold: Tally,
    total: u64,
    told_at: Option<Instant>,
    /// Of the sweep that is under way.
    refusals: Refusals,
    complaints: Repeats,
}

impl Ledger {
    pub(super) fn new(stage: &str) -> Self {
        Self {
            stage: stage.to_owned(),
            untold: Tally::default(),
            total: 0,
            told_at: None,
            refusals: Refusals::default(),
            complaints: Repeats::new(),
        }
    }

    /// Enters a batch, and tells of it unless a line was written a moment ago.
    pub(super) fn enter(&mut self, batch: &Batch) {
        for id in batch.moved.iter().map(Moved::shown) {
            debug!(ingress.id = %id, "message {id} bounced");
        }
        self.untold.add(batch);
        if self.due().is_some_and(|due| due <= Instant::now()) {
            self.tell();
        }
    }

    /// A sweep begins; what one that was cut short had found does not count.
    pub(super) fn begin_sweep(&mut self) {
        self.refusals = Refusals::default();
    }

    /// Enters a batch of the sweep. At its end comes what it was refused: an error when that is everything, and otherwise a line.
    pub(super) fn enter_swept(&mut self, batch: &Batch) -> Result<(), BounceError> {
        self.enter(batch);
        self.refusals.add(batch);
        if batch.next.is_some() {
            return Ok(());
        }
        let refusals = std::mem::take(&mut self.refusals);
        refusals.verdict()?;
        // Each sweep is refused the same messages: the line comes when they are others, and then ever more seldom.
        if !refusals.is_empty() && self.complaints.observe(&refusals.key()).is_some() {
            for line in refusals.lines() {
                warn!("{line}");
            }
        }
        Ok(())
    }

    /// When the next line is due; `None` when there is nothing to tell.
    pub(super) fn due(&self) -> Option<Instant> {
        let last = self.told_at.map(|told_at| told_at + LINE_EVERY);
        (self.untold.total() > 0).then(|| last.unwrap_or_else(Instant::now))
    }

    /// Tells what is untold.
    pub(super) fn tell(&mut self) {
        let Self { stage, untold, .. } = self;
        if untold.total() == 0 {
            return;
        }
        info!(
            failed = untold.failed,
            timeout = untold.timeout,
            "bounced {untold} to stage {stage}"
        );
        self.total += untold.total();
        self.untold = Tally::default();
        self.told_at = Some(Instant::now());
        systemd::status(&format!("{} messages bounced since the start", self.total));
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE_EVERY, Ledger};
    use crate::ingress::{Batch, Moved};
    use std::time::Instant;

    fn batch() -> Batch {
        let moved = ["1", "2"].map(|id| Moved {
            id: id.to_owned(),
            timed_out: id == "2",
        });
        Batch {
            moved: moved.into(),
            ..Batch::default()
        }
    }

    #[test]
    fn the_first_batch_is_told_at_once_and_the_next_ones_together() {
        let mut ledger = Ledger::new("bounce");
        ledger.enter(&batch());
        assert_eq!((ledger.total, ledger.due()), (2, None));
        ledger.enter(&batch());
        ledger.enter(&batch());
        assert_eq!(ledger.untold.to_string(), "4 (failed 2, timeout 2)");
        let due = ledger.due().expect("something untold");
        assert!(due > Instant::now() && due <= Instant::now() + LINE_EVERY);
        ledger.tell();
        assert_eq!((ledger.total, ledger.due()), (6, None));
    }
}
