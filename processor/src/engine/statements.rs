//! The statements of the engine, each in a file of its own under `sql/`; the claims share their end.

use tokio_postgres::{Client, Statement};

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $($file:literal)+ $(for $action_type:literal)?),+ $(,)?) => {
        /// The Processor's statements, prepared once for each session.
        #[derive(Debug)]
        pub struct Statements {
            $($(#[$doc])* pub $name: Statement,)+
        }

        impl Statements {
            pub(super) async fn prepare(client: &Client) -> Result<Self, tokio_postgres::Error> {
                Ok(Self {
                    $($name: {
                        let text = concat!($(include_str!(concat!("sql/", $file))),+);
                        // A literal, not a parameter: the planner must know which partial index it may take.
                        $(let text = &text.replace("{action_type}", $action_type);)?
                        client.prepare(text).await?
                    },)+
                })
            }
        }
    };
}

statements! {
    /// Due events of parallel channels.
    claim_ready = "claim_ready.sql" "claimed.sql",
    /// The database's time.
    now = "now.sql",
    /// Time until the next event.
    next_due = "next_due.sql" for "sql",
    /// Named events.
    claim_ids = "claim_ids.sql" "claimed.sql",
    /// Slot of a lane.
    lock_lane = "lock_lane.sql",
    /// Head of a lane.
    claim_head = "claim_head.sql" "claimed.sql",
    /// Lanes of the first due events.
    due_lanes = "due_lanes.sql" for "sql",
    /// Further lanes.
    next_lanes = "next_lanes.sql" for "sql",
    /// Events marked by a crash.
    suspects = "suspects.sql",
    /// Twins of the events about to run.
    fold_twins = "fold_twins.sql",
    /// Verdict `done` for many.
    settle_done = "settle_done.sql",
    /// Other verdicts.
    settle_other = "settle_other.sql",
    /// Verdict `retry`.
    settle_retry = "settle_retry.sql",
    /// Lane change.
    move_lane = "move_lane.sql",
    /// Claim lock of the next due event of the notify pool.
    lock_notify_next = "lock_notify_next.sql",
    /// Claim lock of the head of a lane of the notify pool.
    lock_notify_head = "lock_notify_head.sql",
    /// The event whose claim lock was taken.
    claim_notify = "claim_notify.sql" "claimed.sql",
    /// Lanes of the first due events of the notify pool.
    due_lanes_notify = "due_lanes.sql" for "notify",
    /// Time until the next event of the notify pool.
    next_due_notify = "next_due.sql" for "notify",
    /// Further lanes of the notify pool.
    next_lanes_notify = "next_lanes.sql" for "notify",
    /// Row lock of a notify event at settlement.
    lock_notify = "lock_notify.sql",
}
