//! Which events are sent, and what must become of them.

use super::tally::Tally;

/// Payloads that the deduplicated calls share.
pub(super) const VIEWS: u64 = 5;
/// With fewer events not every channel would have one.
const LEAST: u64 = 50;

/// How the calls of a channel are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sending {
    /// Hundreds in a transaction, with notify_many().
    Bulk,
    /// A few in a transaction, between those of other channels.
    Mixed,
    /// The same, and expired already.
    Expired,
    /// The same, deduplicated, and due in a moment.
    Deduplicated,
    /// One by one, to a Processor that has nothing else to do.
    OneByOne,
}

/// A channel of the demo.
#[derive(Debug, Clone, Copy)]
pub(super) struct Channel {
    pub(super) name: &'static str,
    /// `None`: a channel of type notify.
    pub(super) action: Option<&'static str>,
    pub(super) mode: &'static str,
    pub(super) max_retries: i32,
    pub(super) enabled: bool,
    pub(super) sending: Sending,
    /// Share of all calls, and how many are enough.
    per_mille: u64,
    most: u64,
    /// What one call comes to.
    each: Tally,
    /// What a reader of the table is told.
    pub(super) shows: &'static str,
}

const NONE: Tally = Tally {
    ok: 0,
    retried: 0,
    exceeded: 0,
    error: 0,
    expired: 0,
    invalid: 0,
    folded: 0,
};
const OK: Tally = Tally { ok: 1, ..NONE };
const FAILED: Tally = Tally { error: 1, ..NONE };

const PLAIN: Channel = Channel {
    name: "",
    action: Some("SELECT 1"),
    mode: "parallel",
    max_retries: 0,
    enabled: true,
    sending: Sending::Mixed,
    per_mille: 10,
    most: 100,
    each: OK,
    shows: "",
};

/// The channels; the first one takes what the shares of the others leave.
const CHANNELS: [Channel; 11] = [
    Channel {
        name: "pgrelay_demo.orders",
        action: Some("INSERT INTO pgrelay_demo.shipments (order_id) VALUES ($1)"),
        sending: Sending::Bulk,
        shows: "an INSERT for each order, enqueued with it in one transaction",
        ..PLAIN
    },
    Channel {
        name: "pgrelay_demo.ticks",
        sending: Sending::OneByOne,
        per_mille: 20,
        most: 200,
        shows: "one at a time, to an idle Processor",
        ..PLAIN
    },
    Channel {
        name: "pgrelay_demo.flaky",
        action: Some("SELECT pgrelay_demo.succeed_at(2, '40001', $1)"),
        max_retries: 3,
        each: Tally { retried: 1, ..OK },
        shows: "a serialization failure, then success after 3 s",
        ..PLAIN
    },
    Channel {
        name: "pgrelay_demo.stubborn",
        action: Some("SELECT pgrelay_demo.succeed_at(3, '40P01', $1)"),
        max_retries: 3,
        per_mille: 5,
        most: 50,
        each: Tally { retried: 2, ..OK },
        shows: "two deadlocks, success after 3 s and 5 s",
        ..PLAIN
    },
    Channel {
        name: "pgrelay_demo.hopeless",
        action: Some("SELECT pgrelay_demo.succeed_at(100, '40001', $1)"),
        max_retries: 1,
        per_mille: 5,
        most: 20,
        each: Tally {
            retried: 1,
            exceeded: 1,
            ..NONE
        },
        shows: "fails again after its only retry",
        ..PLAIN
    },
    Channel {
        name: "pgrelay_demo.wrong",
        action: Some("INSERT INTO pgrelay_demo.stock (item, amount) VALUES ($1, -1)"),
        max_retries: 3,
        each: FAILED,
        shows: "breaks a CHECK constraint: no retry would help",
        ..PLAIN
    },
    Channel {
        name: "pgrelay_demo.late",
        sending: Sending::Expired,
        each: Tally { expired: 1, ..NONE },
        shows: "expire_at has passed: never attempted",
        ..PLAIN
    },
    Channel {
        name: "pgrelay_demo.ledger",
        action: Some("INSERT INTO pgrelay_demo.ledger (entry) VALUES ($1)"),
        mode: "serial",
        per_mille: 50,
        most: 500,
        shows: "serial: strictly one after the other, in order",
        ..PLAIN
    },
    Channel {
        name: "pgrelay_demo.refresh",
        action: Some("INSERT INTO pgrelay_demo.refreshed (view_name) VALUES ($1)"),
        sending: Sending::Deduplicated,
        per_mille: 100,
        most: 1_000,
        shows: "deduplicated: one run serves many calls",
        ..PLAIN
    },
    Channel {
        name: "pgrelay_demo.switched_off",
        enabled: false,
        each: Tally { invalid: 1, ..NONE },
        shows: "disabled: never attempted",
        ..PLAIN
    },
    Channel {
        name: NOTIFICATIONS,
        action: None,
        per_mille: 5,
        most: 20,
        each: FAILED,
        shows: "type notify, and no notifier is installed",
        ..PLAIN
    },
];

const NOTIFICATIONS: &str = "pgrelay_demo.mail";

/// A channel with the number of its calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planned {
    pub(super) channel: Channel,
    pub(super) calls: u64,
}

impl Planned {
    /// What must have become of the calls, of which `suppressed` made no event of their own.
    pub(super) const fn expected(&self, suppressed: u64) -> Tally {
        let own = self.channel.each.times(self.calls - suppressed);
        Tally {
            folded: suppressed,
            ..own
        }
    }
}

/// All of it.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) channels: Vec<Planned>,
}

impl Plan {
    /// Divides `events` calls, or a few more if that is too few, among the channels.
    pub(super) fn new(events: u64) -> Self {
        let events = events.max(LEAST);
        let mut channels: Vec<Planned> = CHANNELS
            .iter()
            .map(|&channel| Planned {
                channel,
                calls: (events * channel.per_mille / 1_000).clamp(1, channel.most),
            })
            .collect();
        let others: u64 = channels.iter().skip(1).map(|planned| planned.calls).sum();
        channels[0].calls = events - others;
        Self { channels }
    }

    /// Leaves out the notifications: an installed notifier would really try to send them.
    pub(super) fn without_notifications(mut self) -> Self {
        self.channels
            .retain(|planned| planned.channel.name != NOTIFICATIONS);
        self
    }

    /// How many calls there will be.
    pub(super) fn calls(&self) -> u64 {
        self.channels.iter().map(|planned| planned.calls).sum()
    }

    /// How many events will be resolved, retries included, if no deduplicated call comes too late.
    pub(super) fn resolutions(&self) -> u64 {
        let of = |planned: &Planned| match planned.channel.sending {
            Sending::Deduplicated => planned.calls.min(VIEWS),
            Sending::Bulk | Sending::Mixed | Sending::Expired | Sending::OneByOne => {
                planned.expected(0).counts().iter().sum()
            }
        };
        self.channels.iter().map(of).sum()
    }

    /// The channels whose calls are made in the given way.
    pub(super) fn sent_by(&self, sending: Sending) -> impl Iterator<Item = &Planned> {
        self.channels
            .iter()
            .filter(move |planned| planned.channel.sending == sending)
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;

    #[test]
    fn the_calls_add_up_and_every_channel_has_some() {
        for events in [50, 51, 1_000, 10_000, 1_000_000] {
            let plan = Plan::new(events);
            assert_eq!(plan.calls(), events);
            assert!(plan.channels.iter().all(|planned| planned.calls > 0));
        }
        assert_eq!(Plan::new(1).calls(), 50);
    }
}
