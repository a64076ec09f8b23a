//! Whether the columns can hold what is written into them, asked of the server itself: any type will do that takes the text and gives the
//! same text back.

use crate::ingress::{Bounce, Columns};
use shared::db::error_chain::ErrorChain;
use shared::finding::Finding;
use shared::oneshot::DatabaseError;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const CODE: &str = "bounce:types";

/// A finding for every column whose type cannot hold what the bouncer writes there or looks for.
pub(super) async fn unusable(
    client: &Client,
    columns: &Columns,
    bounce: &Bounce,
) -> Result<Vec<Finding>, DatabaseError> {
    let states = bounce.states.names().iter().copied().chain(["pending"]);
    let wanted = states
        .map(|state| ("status", &columns.status, state))
        .chain([("stage", &columns.stage, bounce.stage.as_str())]);
    let mut findings = Vec::new();
    for (column, column_type, value) in wanted {
        if !holds(client, column_type, value).await? {
            let message = format!(
                "column {column} of pepsi.ingress has type {column_type}, which cannot hold '{value}'"
            );
            findings.push(Finding::blocking(CODE, message).hint(if column == "stage" {
                "change [pepsi-failure-bouncer] BOUNCE_STAGE, or the column"
            } else {
                "the column must be able to say pending, failed and timeout"
            }));
        }
    }
    Ok(findings)
}

async fn holds(client: &Client, column_type: &str, value: &str) -> Result<bool, DatabaseError> {
    // A cast cuts what is too long for the type, hence the comparison.
    let question = format!("SELECT ($1::text::{column_type})::text = $1::text");
    match client.query_one(&question, &[&value]).await {
        Ok(row) => Ok(row.get::<_, Option<bool>>(0) == Some(true)),
        Err(error) if is_about_the_type(&error) => Ok(false),
        Err(error) => Err(DatabaseError::statement(
            "looking at the types of pepsi.ingress",
        )(error)),
    }
}

/// The finding for statements that cannot be prepared with these types, such as for an id that has no order.
pub(super) fn refusal(error: tokio_postgres::Error) -> Result<Finding, DatabaseError> {
    if !is_about_the_type(&error) {
        return Err(DatabaseError::statement("preparing the statements")(error));
    }
    let message = format!(
        "pepsi.ingress cannot be worked with: {}",
        ErrorChain(&error)
    );
    Ok(Finding::blocking(CODE, message)
        .hint("id needs an order and an equality, stage and status an equality"))
}

/// Bad values, constraints of a domain, and operators or casts that do not exist.
fn is_about_the_type(error: &tokio_postgres::Error) -> bool {
    let about = |code: &SqlState| {
        ["22", "23", "42"]
            .iter()
            .any(|class| code.code().starts_with(class))
            && *code != SqlState::INSUFFICIENT_PRIVILEGE
    };
    error.code().is_some_and(about)
}
