//! Waiting for something to become true, with an end.

use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};

/// Long enough for a slow machine, short enough that a hung test is noticed: the deadline most waits want.
pub const SOON: Duration = Duration::from_secs(20);

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// What a probe saw: either the thing waited for, or a description of what was there instead.
pub trait Observation {
    /// What the wait returns.
    type Value;

    /// The value, or what to print should the deadline pass.
    fn decide(self) -> Result<Self::Value, String>;
}

impl<T> Observation for Option<T> {
    type Value = T;

    fn decide(self) -> Result<T, String> {
        self.ok_or_else(|| "nothing".to_owned())
    }
}

impl<T, E: Display> Observation for Result<T, E> {
    type Value = T;

    fn decide(self) -> Result<T, String> {
        self.map_err(|error| error.to_string())
    }
}

impl Observation for bool {
    type Value = ();

    fn decide(self) -> Result<(), String> {
        self.then_some(()).ok_or_else(|| "false".to_owned())
    }
}

/// Probes until the observation is positive.
///
/// # Panics
/// When `deadline` has passed, naming what was waited for and what was seen last. A probe that hangs counts as well.
pub async fn until<O, F>(what: &str, deadline: Duration, mut probe: impl FnMut() -> F) -> O::Value
where
    O: Observation,
    F: Future<Output = O>,
{
    let started = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut last_seen = "no answer from the first probe".to_owned();
    while started.elapsed() < deadline {
        let left = deadline.saturating_sub(started.elapsed());
        match tokio::time::timeout(left, probe()).await.map(O::decide) {
            Ok(Ok(value)) => return value,
            Ok(Err(seen)) => last_seen = seen,
            Err(_elapsed) => break,
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    panic!("waited {deadline:?} for {what}; last seen: {last_seen}");
}

/// Expects `condition` to stay true for all of `period`; for what must *not* happen.
///
/// # Panics
/// As soon as a probe is negative.
pub async fn while_holding<O, F>(what: &str, period: Duration, mut probe: impl FnMut() -> F)
where
    O: Observation,
    F: Future<Output = O>,
{
    let started = Instant::now();
    while started.elapsed() < period {
        if let Err(seen) = probe().await.decide() {
            panic!("{what} ended after {:?}: {seen}", started.elapsed());
        }
        tokio::time::sleep(LONGEST_PAUSE).await;
    }
}
