//! A batch that the table refused, tried message by message: one that a constraint or a trigger will not let go does not hold up the others.

use super::{BATCH, Batch, Ingress, Refused};
use crate::report::BounceError;
use tokio_postgres::types::ToSql;

/// So many refusals in a row, and none moved, are no longer about single messages.
const GIVE_UP: usize = 100;

impl Ingress {
    /// Moves what the table lets go of the batch behind `after`. When it lets nothing go, that is an error.
    pub(super) async fn one_by_one(&self, after: Option<&str>) -> Result<Batch, BounceError> {
        let ids = self.peek(after).await?;
        let mut batch = Batch {
            moved: Vec::new(),
            refused: Vec::new(),
            next: (ids.len() == BATCH).then(|| ids.last().cloned()).flatten(),
        };
        for id in ids {
            match self.bounce_ids(std::slice::from_ref(&id)).await {
                Ok(done) => batch.moved.extend(done.moved),
                Err(BounceError::Refused { sqlstate }) => {
                    batch.refused.push(Refused {
                        id,
                        sqlstate: sqlstate.clone(),
                    });
                    if batch.moved.is_empty() && batch.refused.len() == GIVE_UP {
                        return Err(BounceError::Refused { sqlstate });
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(batch)
    }

    async fn peek(&self, after: Option<&str>) -> Result<Vec<String>, BounceError> {
        let limit = i64::try_from(BATCH).unwrap_or(i64::MAX);
        let doing = "looking at stuck messages";
        // Not prepared beforehand: this is seldom needed.
        let (statement, parameters): (_, Vec<&(dyn ToSql + Sync)>) = match &after {
            None => (&self.peek_first, vec![&self.stage, &limit]),
            Some(after) => (&self.peek_next, vec![&self.stage, &limit, after]),
        };
        let rows = self.query(doing, statement.as_str(), &parameters).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}
