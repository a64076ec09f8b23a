//! What became of the calls of one channel.

/// One count for each way an event can go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) ok: u64,
    pub(super) retried: u64,
    pub(super) exceeded: u64,
    pub(super) error: u64,
    pub(super) expired: u64,
    pub(super) invalid: u64,
    /// Calls that a run for another call served: suppressed at once, or folded when that run was claimed.
    pub(super) folded: u64,
}

impl Tally {
    pub(super) const COLUMNS: [&'static str; 7] = [
        "ok", "retried", "exceeded", "error", "expired", "invalid", "folded",
    ];

    /// In the order of [`Tally::COLUMNS`].
    pub(super) const fn counts(self) -> [u64; 7] {
        [
            self.ok,
            self.retried,
            self.exceeded,
            self.error,
            self.expired,
            self.invalid,
            self.folded,
        ]
    }

    /// The same for `calls` calls, when each of them comes to `self`.
    pub(super) const fn times(self, calls: u64) -> Self {
        Self {
            ok: self.ok * calls,
            retried: self.retried * calls,
            exceeded: self.exceeded * calls,
            error: self.error * calls,
            expired: self.expired * calls,
            invalid: self.invalid * calls,
            folded: self.folded * calls,
        }
    }
}
