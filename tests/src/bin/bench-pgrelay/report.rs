//! What was measured: lines of JSON as they come, and a table at the end.

use std::io::Write as _;

use serde::Serialize;

use crate::options::Options;

/// What a number should come to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aim {
    None,
    RatioAtLeast(f64),
    ValueAtMost(f64),
}

/// One line.
#[derive(Debug, Serialize)]
pub(crate) struct Measurement {
    name: String,
    value: f64,
    unit: &'static str,
    ratio_to: Option<String>,
    ratio: Option<f64>,
    aim: Option<String>,
    met: Option<bool>,
    /// Load average of the last minute, when the line was written.
    load: f64,
    notes: String,
}

impl Measurement {
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            value: rounded(value),
            unit,
            ratio_to: None,
            ratio: None,
            aim: None,
            met: None,
            load: load(),
            notes: String::new(),
        }
    }

    /// Compares it; without a value to compare it to, nothing is said.
    pub(crate) fn compared(mut self, to: impl Into<String>, ratio: Option<f64>) -> Self {
        self.ratio_to = ratio.is_some().then(|| to.into());
        self.ratio = ratio.map(rounded);
        self
    }

    pub(crate) fn aiming(mut self, aim: Aim) -> Self {
        match aim {
            Aim::None => {}
            Aim::RatioAtLeast(least) => {
                self.aim = Some(format!("ratio >= {least}"));
                self.met = self.ratio.map(|ratio| ratio >= least);
            }
            Aim::ValueAtMost(most) => {
                self.aim = Some(format!("value <= {most}"));
                self.met = Some(self.value <= most);
            }
        }
        self
    }

    pub(crate) fn noting(mut self, notes: impl Into<String>) -> Self {
        self.notes = notes.into();
        self
    }
}

/// All lines so far.
#[derive(Debug)]
pub(crate) struct Report {
    quick: bool,
    measurements: Vec<Measurement>,
}

impl Report {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            quick: options.quick,
            measurements: Vec::new(),
        }
    }

    /// Writes the line at once: a run that is cut short has shown what it knows.
    pub(crate) fn add(&mut self, measurement: Measurement) {
        let line = serde_json::to_string(&measurement).expect("a measurement as JSON");
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{line}").expect("standard output");
        self.measurements.push(measurement);
    }

    /// For a person.
    pub(crate) fn summarise(&self) {
        eprintln!(
            "\n{:<38}{:>10} {:<9}{:>7}  {:<24}{:<16}",
            "measurement", "value", "unit", "ratio", "to", "aim"
        );
        for line in &self.measurements {
            let ratio = line
                .ratio
                .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
            let met = match line.met {
                Some(true) => "met",
                Some(false) => "NOT MET",
                None => "",
            };
            eprintln!(
                "{:<38}{:>10} {:<9}{ratio:>7}  {:<24}{:<16}{met}",
                line.name,
                line.value,
                line.unit,
                line.ratio_to.as_deref().unwrap_or("-"),
                line.aim.as_deref().unwrap_or("-"),
            );
        }
        let with_aim = self.measurements.iter().filter_map(|line| line.met);
        let (met, missed): (Vec<bool>, Vec<bool>) = with_aim.partition(|met| *met);
        let quick = if self.quick {
            ", a quick run: one round of small counts"
        } else {
            ""
        };
        eprintln!("\n{} aims met, {} not met{quick}", met.len(), missed.len());
    }
}

/// Three digits after the point are more than anything here can promise.
fn rounded(value: f64) -> f64 {
    if value.abs() >= 100.0 {
        value.round()
    } else {
        (value * 1000.0).round() / 1000.0
    }
}

fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok());
    first.unwrap_or(f64::NAN)
}

/// The middle one; the mean of the two middle ones when their number is even.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted.get(middle).copied()
    } else {
        Some(f64::midpoint(
            *sorted.get(middle.checked_sub(1)?)?,
            *sorted.get(middle)?,
        ))
    }
}

/// The value that `percent` of all values do not exceed.
pub(crate) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::{median, percentile};

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert!((percentile(&values, 50) - 100.0).abs() < f64::EPSILON);
        assert!((percentile(&values, 99) - 198.0).abs() < f64::EPSILON);
    }
}
