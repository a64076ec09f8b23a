//! Whether the registered actions can run at all.

use super::Finding;
use crate::action::{check_first_keyword, check_parameter_count};
use crate::oneshot::DatabaseError;
use shared::db::connect::Connector;
use shared::db::error_chain::ErrorChain;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const CODE: &str = "channel:action";
const APP: &str = "pg-relay-processor preflight";

/// What the trial may cost: a start must not wait for it, however many channels there are.
const MOST_CHANNELS: usize = 1_000;
const LIMIT: Duration = Duration::from_secs(5);

/// A channel and what it runs.
struct Action {
    channel: String,
    sql: String,
}

/// Tries every action as far as that goes without running it.
pub(super) async fn try_actions(
    connector: &Connector,
    client: &Client,
) -> Result<Vec<Finding>, DatabaseError> {
    let mut actions = registered(client).await?;
    let more = actions.len() > MOST_CHANNELS;
    actions.truncate(MOST_CHANNELS);
    let mut findings = Vec::new();
    let mut acceptable = Vec::new();
    for action in actions {
        match check_first_keyword(&action.sql) {
            Ok(()) => acceptable.push(action),
            Err(problem) => findings.push(about(&action.channel, &problem.to_string())),
        }
    }
    let mut untried = 0;
    if !acceptable.is_empty() {
        untried = prepare_all(connector, &acceptable, &mut findings).await?;
    }
    if more || untried > 0 {
        findings.push(Finding::warning(
            CODE,
            format!("not every action was tried: the trial ends after {MOST_CHANNELS} channels or {LIMIT:?}"),
        ));
    }
    Ok(findings)
}

async fn registered(client: &Client) -> Result<Vec<Action>, DatabaseError> {
    let rows = client
        .query(
            "SELECT c.channel, c.action_sql
             FROM pgrelay.channels AS c
             WHERE c.action_type = 'sql' AND c.enabled
             ORDER BY c.channel
             LIMIT $1",
            &[&i64::try_from(MOST_CHANNELS + 1).unwrap_or(i64::MAX)],
        )
        .await
        .map_err(DatabaseError::statement("reading the channels"))?;
    Ok(rows
        .iter()
        .map(|row| Action {
            channel: row.get(0),
            sql: row.get(1),
        })
        .collect())
}

/// Prepares each action on a session of its own, with the search path that actions run with, in a
/// transaction that is rolled back. Returns how many were left when the time was up.
async fn prepare_all(
    connector: &Connector,
    actions: &[Action],
    findings: &mut Vec<Finding>,
) -> Result<usize, DatabaseError> {
    let end = Instant::now() + LIMIT;
    let settings = [
        ("statement_timeout", "1s"),
        ("lock_timeout", "100ms"),
        ("idle_in_transaction_session_timeout", "10s"),
        ("default_transaction_read_only", "on"),
    ]
    .map(|(name, value)| (name, value.to_owned()));
    let session = connector.connect(APP, &settings).await?;
    for (tried, action) in actions.iter().enumerate() {
        match timeout_at(end, prepare(&session.client, &action.sql)).await {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(problem))) => findings.push(about(&action.channel, &problem)),
            Ok(Err(error)) => return Err(DatabaseError::statement("trying the actions")(error)),
            // Dropping the session ends it.
            Err(_) => return Ok(actions.len() - tried),
        }
    }
    session.close().await;
    Ok(0)
}

/// What is wrong with the action, if anything; an error when the trial itself failed.
async fn prepare(client: &Client, sql: &str) -> Result<Option<String>, tokio_postgres::Error> {
    client.batch_execute("BEGIN").await?;
    let problem = match client.prepare(sql).await {
        Ok(statement) => check_parameter_count(statement.params().len())
            .err()
            .map(|problem| problem.to_string()),
        Err(error) if client.is_closed() => return Err(error),
        Err(error) if says_nothing(error.code()) => None,
        Err(error) => Some(format!(
            "its action cannot be prepared: {}",
            ErrorChain(&error)
        )),
    };
    client.batch_execute("ROLLBACK").await?;
    Ok(problem)
}

/// Errors of the moment: a lock not had, a limit reached, a server short of something.
fn says_nothing(code: Option<&SqlState>) -> bool {
    code.is_some_and(|code| {
        ["40", "53", "55P03", "57"]
            .iter()
            .any(|class| code.code().starts_with(class))
    })
}

fn about(channel: &str, problem: &str) -> Finding {
    Finding::warning(CODE, format!("channel {channel:?}: {problem}"))
        .hint("its events end in error; correct it with SELECT pgrelay.update(channel, action_sql)")
}
