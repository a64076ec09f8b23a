//! The settings a worker's session starts with and RESET returns to.

use std::time::Duration;

/// What the action of a batch may take and wait for; a batch that hits these was no attempt. Without them, batches deadlock
/// with each other and with well-behaved transactions of users.
const BATCH_STATEMENT_TIMEOUT_MS: u32 = 250;
const BATCH_LOCK_TIMEOUT_MS: u32 = 5;

/// For a worker that may hold a transaction for `longest_hold` without a word.
pub(super) fn settings(longest_hold: Duration) -> Vec<(&'static str, String)> {
    vec![
        ("statement_timeout", BATCH_STATEMENT_TIMEOUT_MS.to_string()),
        ("lock_timeout", BATCH_LOCK_TIMEOUT_MS.to_string()),
        // A Processor that stopped without closing its sockets lets go of its events after this.
        (
            "idle_in_transaction_session_timeout",
            longest_hold.as_millis().to_string(),
        ),
        // And one that is gone lets go of them while an action runs: without it the server looks for its client only afterwards.
        ("client_connection_check_interval", "1000".to_owned()),
        ("default_transaction_isolation", "read committed".to_owned()),
        ("default_transaction_read_only", "off".to_owned()),
        ("default_transaction_deferrable", "off".to_owned()),
    ]
}
