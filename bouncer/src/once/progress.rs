//! How far a sweep is: a counter on a terminal, a line now and then elsewhere.

use crate::report::Tally;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// Between two lines; a sweep that is over sooner has its result to show.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Removed from the terminal when it is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    line_at: Instant,
}

impl Progress {
    pub(super) fn new() -> Self {
        // Written to standard error: standard output is for the result.
        let bar = std::io::stderr().is_terminal().then(|| {
            let style =
                ProgressStyle::with_template("{spinner} {human_pos} messages bounced, {per_sec}");
            let bar = ProgressBar::no_length();
            bar.with_style(style.expect("the template is valid"))
        });
        Self {
            bar,
            line_at: Instant::now() + LINE_EVERY,
        }
    }

    pub(super) fn show(&mut self, tally: Tally) {
        match &self.bar {
            Some(bar) => bar.set_position(tally.total()),
            None if Instant::now() >= self.line_at => {
                self.line_at = Instant::now() + LINE_EVERY;
                tracing::info!("bounced {tally} so far");
            }
            None => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
