//! What a whole sweep could not move, told in one go: a line for each batch could not be folded when the next sweep says the same.

use super::{Batch, Refused};
use crate::report::BounceError;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// So many refusals, and none moved, are no longer about single messages.
const EVERYTHING: u64 = 100;

/// The sum of the batches of one sweep. Of a million refusals it keeps one and a digest.
#[derive(Debug, Default)]
pub struct Refusals {
    first: Option<Refused>,
    refused: u64,
    ignored: u64,
    moved: bool,
    digest: DefaultHasher,
}

impl Refusals {
    /// Adds what a batch of the sweep came to.
    pub fn add(&mut self, batch: &Batch) {
        self.moved |= !batch.moved.is_empty();
        self.ignored += batch.ignored;
        for refused in &batch.refused {
            refused.id.hash(&mut self.digest);
            self.refused += 1;
            self.first.get_or_insert_with(|| refused.clone());
        }
    }

    /// Whether everything was moved that nobody else held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.refused == 0 && self.ignored == 0
    }

    /// The same for two sweeps that were refused the same messages.
    #[must_use]
    pub fn key(&self) -> String {
        let Self {
            refused, ignored, ..
        } = self;
        format!("{refused} {ignored} {}", self.digest.finish())
    }

    /// At the end of the table: an error when it let nothing go.
    pub fn verdict(&self) -> Result<(), BounceError> {
        match &self.first {
            Some(Refused { sqlstate, .. }) if !self.moved && self.refused >= EVERYTHING => {
                Err(BounceError::Refused {
                    sqlstate: sqlstate.clone(),
                })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// What there is to tell.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let refused = self.first.as_ref().map(|first| first.line(self.refused));
        let ignored = (self.ignored > 0).then(|| {
            format!(
                "{} messages stuck: their move has no effect, look at the triggers of pepsi.ingress and for ids that are NULL",
                self.ignored
            )
        });
        refused.into_iter().chain(ignored).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Batch, Refusals, Refused};

    fn batch(ids: std::ops::Range<u32>) -> Batch {
        let refused = ids.map(|id| Refused {
            id: id.to_string(),
            sqlstate: "23514".to_owned(),
        });
        Batch {
            refused: refused.collect(),
            ..Batch::default()
        }
    }

    fn sum(batches: &[Batch]) -> Refusals {
        let mut sum = Refusals::default();
        for batch in batches {
            sum.add(batch);
        }
        sum
    }

    #[test]
    fn sweeps_with_the_same_refusals_have_the_same_key_however_they_were_cut() {
        let whole = sum(&[batch(0..3)]);
        assert_eq!(whole.key(), sum(&[batch(0..1), batch(1..3)]).key());
        assert_ne!(whole.key(), sum(&[batch(1..4)]).key());
        assert_eq!(whole.lines().len(), 1);
    }

    #[test]
    fn only_a_table_that_lets_nothing_go_is_an_error() {
        assert!(sum(&[batch(0..99)]).verdict().is_ok());
        assert!(sum(&[batch(0..60), batch(60..100)]).verdict().is_err());
        let moved = Batch {
            moved: vec![super::super::Moved {
                id: "7".to_owned(),
                timed_out: false,
            }],
            ..Batch::default()
        };
        assert!(sum(&[batch(0..100), moved]).verdict().is_ok());
    }
}
