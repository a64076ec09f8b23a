//! A batch that the table refused, tried message by message: one that a constraint or a trigger will not let go does not hold up the others.

use super::{Batch, Ingress, Refused};
use crate::report::BounceError;
use tokio_postgres::types::ToSql;

impl Ingress {
    /// Moves what the table lets go of the batch behind `after`.
    pub(super) async fn one_by_one(&self, after: Option<&str>) -> Result<Batch, BounceError> {
        let ids = self.peek(after).await?;
        let is_full = i64::try_from(ids.len()) == Ok(self.size);
        let mut batch = Batch {
            next: ids.last().filter(|_| is_full).cloned(),
            ..Batch::default()
        };
        for id in ids {
            match self.bounce_ids(std::slice::from_ref(&id)).await {
                Ok(done) => {
                    batch.moved.extend(done.moved);
                    batch.ignored += done.ignored;
                }
                Err(BounceError::Refused { sqlstate }) => {
                    batch.refused.push(Refused { id, sqlstate });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(batch)
    }

    /// The ids of the batch. It fires no trigger: when it fails, that is not about single messages.
    async fn peek(&self, after: Option<&str>) -> Result<Vec<String>, BounceError> {
        let doing = "looking at stuck messages";
        // Not prepared beforehand: this is seldom needed.
        let (statement, parameters): (_, Vec<&(dyn ToSql + Sync)>) = match &after {
            None => (&self.peek_first, vec![&self.stage, &self.size]),
            Some(after) => (&self.peek_next, vec![&self.stage, &self.size, after]),
        };
        let rows = self.ask(doing, statement.as_str(), &parameters).await?;
        // A row without an id cannot be named.
        Ok(rows.iter().filter_map(|row| row.get(0)).collect())
    }
}
