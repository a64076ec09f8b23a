//! What the bouncer works with, but not well, or not at all; and how far the planner is trusted to find what is stuck.

use crate::cli::States;
use shared::finding::Finding;
use shared::oneshot::DatabaseError;
use tokio_postgres::Client;

/// Leaves the planner no way but the index of stuck messages, in its order, however wrong its statistics are. Without such an index
/// that way would be a walk through every message there ever was.
const GUIDED: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off";

/// Looks at the triggers, indexes and policies of the table, and sets the session up for its indexes.
pub(super) async fn look(
    client: &Client,
    table: u32,
    states: States,
) -> Result<Vec<Finding>, DatabaseError> {
    let states: Vec<String> = states
        .names()
        .iter()
        .map(|name| format!("'{name}'"))
        .collect();
    let row = client
        .query_one(include_str!("../sql/surroundings.sql"), &[&table, &states])
        .await
        .map_err(DatabaseError::statement("looking at triggers and indexes"))?;
    let [trigger, guided, served, policies, nullable, rules] =
        [0, 1, 2, 3, 4, 5].map(|index| row.get(index));
    if guided {
        client
            .batch_execute(GUIDED)
            .await
            .map_err(DatabaseError::statement("setting up the session"))?;
    }
    Ok([
        (!trigger).then(no_trigger),
        (!served).then(no_index),
        policies.then(row_security),
        nullable.then(no_key),
        rules.then(rewritten),
    ]
    .into_iter()
    .flatten()
    .collect())
}

fn no_trigger() -> Finding {
    Finding::warning(
        "bounce:trigger",
        "pepsi.ingress has no enabled trigger ingress_failed_notify: messages wait for a sweep",
    )
    .hint("have it notify topic ingress_failed with the id of each row that becomes failed or timeout")
}

fn no_index() -> Finding {
    Finding::warning(
        "bounce:index",
        "no index of pepsi.ingress leads to stuck messages: every batch may read the whole table",
    )
    .hint("CREATE INDEX CONCURRENTLY ON pepsi.ingress (id) WHERE status IN ('failed', 'timeout')")
}

fn row_security() -> Finding {
    Finding::warning(
        "bounce:row-security",
        "row level security is in force for this role: rows that its policies hide are never bounced",
    )
    .hint("let a policy show it every row, or give it BYPASSRLS")
}

/// A moved message is what UPDATE … RETURNING says; with a rule in place it says nothing, or something else.
fn rewritten() -> Finding {
    Finding::blocking(
        "bounce:rules",
        "a rule of pepsi.ingress rewrites UPDATE: nobody could tell what has been moved",
    )
    .hint("make it a trigger, or ALTER TABLE pepsi.ingress DISABLE RULE")
}

fn no_key() -> Finding {
    Finding::warning(
        "bounce:nullable-id",
        "column id of pepsi.ingress can be NULL: rows without an id are never bounced",
    )
    .hint("ALTER TABLE pepsi.ingress ALTER COLUMN id SET NOT NULL")
}
