//! Folding a warning that says the same thing over and over.

/// Counts identical consecutive messages and tells which of them are worth a line.
///
/// ```
/// let mut repeats = shared::logging::repeat::Repeats::new();
/// assert_eq!(repeats.observe("connection refused"), Some(1));
/// assert_eq!(repeats.observe("connection refused"), None);
/// assert_eq!(repeats.observe("timeout"), Some(1));
/// ```
#[derive(Debug, Default)]
pub struct Repeats {
    key: Option<String>,
    seen: u64,
}

impl Repeats {
    /// Nothing seen yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes one occurrence of `key`. Returns how often it has now come in a row when that is the
    /// first time or a power of ten (10, 100, …), and `None` when the line should be withheld.
    pub fn observe(&mut self, key: &str) -> Option<u64> {
        if self.key.as_deref() == Some(key) {
            self.seen = self.seen.saturating_add(1);
        } else {
            self.key = Some(key.to_owned());
            self.seen = 1;
        }
        is_power_of_ten(self.seen).then_some(self.seen)
    }

    /// Forgets the run, so that the next occurrence counts as the first; returns its length.
    pub fn reset(&mut self) -> u64 {
        self.key = None;
        std::mem::take(&mut self.seen)
    }
}

fn is_power_of_ten(count: u64) -> bool {
    count
        .checked_ilog10()
        .is_some_and(|digits| 10_u64.pow(digits) == count)
}

#[cfg(test)]
mod tests {
    use super::Repeats;

    #[test]
    fn the_first_and_every_power_of_ten_are_told() {
        let mut repeats = Repeats::new();
        let told: Vec<u64> = (0..1_000).filter_map(|_| repeats.observe("same")).collect();
        assert_eq!(told, [1, 10, 100, 1_000]);
    }

    #[test]
    fn another_message_starts_a_new_run() {
        let mut repeats = Repeats::new();
        assert_eq!(repeats.observe("a"), Some(1));
        assert_eq!(repeats.observe("b"), Some(1));
        assert_eq!(repeats.observe("a"), Some(1));
        assert_eq!(repeats.observe("a"), None);
        assert_eq!(repeats.reset(), 2);
        assert_eq!(repeats.observe("a"), Some(1));
    }
}
