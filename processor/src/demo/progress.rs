//! How far it is: a bar on a terminal, a line now and then elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Between two lines.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Written to standard error: standard output is for the result.
#[derive(Debug)]
pub(super) struct Progress {
    started: Instant,
    total: u64,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    Bar(ProgressBar),
    Lines(Mutex<Instant>),
}

impl Progress {
    pub(super) fn new(total: u64) -> Self {
        let shape = if std::io::stderr().is_terminal() {
            Shape::Bar(bar(total))
        } else {
            Shape::Lines(Mutex::new(Instant::now()))
        };
        Self {
            started: Instant::now(),
            total,
            shape,
        }
    }

    /// `resolved` events are resolved; `doing` says what is going on.
    pub(super) fn show(&self, resolved: u64, doing: &'static str) {
        match &self.shape {
            Shape::Bar(bar) => {
                bar.set_position(resolved.min(self.total));
                bar.set_message(doing);
            }
            Shape::Lines(last) => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.elapsed() >= LINE_EVERY {
                    *last = Instant::now();
                    self.line(resolved, doing);
                }
            }
        }
    }

    fn line(&self, resolved: u64, doing: &str) {
        // A few more than planned when deduplicated calls were late.
        let total = self.total.max(resolved);
        let seconds = self.started.elapsed().as_secs_f64();
        eprintln!("{seconds:5.1} s  {resolved} of {total} events resolved, {doing}");
    }

    pub(super) fn finish(&self) {
        match &self.shape {
            Shape::Bar(bar) => bar.finish_with_message("done"),
            Shape::Lines(_) => {
                let seconds = self.started.elapsed().as_secs_f64();
                eprintln!("{seconds:5.1} s  all events are resolved");
            }
        }
    }
}

fn bar(total: u64) -> ProgressBar {
    const TEMPLATE: &str = "{elapsed:>4} [{bar:40}] {pos}/{len} events resolved, {msg}";
    let style = ProgressStyle::with_template(TEMPLATE)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    ProgressBar::new(total).with_style(style)
}
