//! The closing table.

use super::check::{Line, Verified};
use super::tally::Tally;
use std::fmt::Write as _;

/// Headings, a line for each channel, and what it shows.
pub(super) fn render(verified: &Verified) -> String {
    let mut text = format!("{:<26}{:>7}", "channel", "calls");
    for column in Tally::COLUMNS {
        let _ = write!(text, "{column:>9}");
    }
    let _ = writeln!(text, "{:>9}{:>9}{:>9}", "p50 ms", "p99 ms", "ok/s");
    for line in &verified.lines {
        text.push_str(&numbers(line));
        text.push('\n');
    }
    text.push_str(
        "\np50 and p99: from enqueuing (or run_at) to the start of the first attempt; ok/s: from the first start to the last end.\n\n",
    );
    for line in &verified.lines {
        let channel = &line.planned.channel;
        let _ = writeln!(text, "{:<26}  {}", channel.name, channel.shows);
    }
    text
}

fn numbers(line: &Line) -> String {
    let mut text = format!("{:<26}{:>7}", line.planned.channel.name, line.planned.calls);
    for count in line.logged.tally.counts() {
        let shown = if count == 0 {
            "-".to_owned()
        } else {
            count.to_string()
        };
        let _ = write!(text, "{shown:>9}");
    }
    let wait = line.logged.wait;
    for milliseconds in [wait.map(|wait| wait.0), wait.map(|wait| wait.1)] {
        let shown = milliseconds.map_or_else(|| "-".to_owned(), |number| format!("{number:.1}"));
        let _ = write!(text, "{shown:>9}");
    }
    let rate = line.logged.rate.filter(|_| line.logged.tally.ok > 1);
    let shown = rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
    let _ = write!(text, "{shown:>9}");
    text
}
