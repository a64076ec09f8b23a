//! Errors written out with their causes.

use std::error::Error;
use std::fmt;
use tokio_postgres::error::DbError;

/// Shows an error and its sources, separated by ": ", for log lines and messages.
///
/// What the server said appears as its message and SQLSTATE; tokio-postgres alone would say only
/// "db error". DETAIL and HINT are left out, because they can quote row values.
#[derive(Debug, Clone, Copy)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut next = Some(self.0);
        let mut written = String::new();
        while let Some(error) = next {
            next = error.source();
            let part = match error.downcast_ref::<DbError>() {
                Some(said) => server_words(said),
                // Its cause, the server's own words, comes next and says it all.
                None if is_wrapper_of_server_words(error) => continue,
                None => error.to_string(),
            };
            // Some libraries already repeat the cause in their own message.
            if written.ends_with(&part) {
                continue;
            }
            if !written.is_empty() {
                f.write_str(": ")?;
            }
            f.write_str(&part)?;
            written = part;
        }
        Ok(())
    }
}

/// The server's message with its SQLSTATE, as in `relation "x" does not exist (42P01)`.
pub(crate) fn server_words(said: &DbError) -> String {
    format!("{} ({})", said.message(), said.code().code())
}

fn is_wrapper_of_server_words(error: &(dyn Error + 'static)) -> bool {
    error
        .downcast_ref::<tokio_postgres::Error>()
        .is_some_and(|error| error.as_db_error().is_some())
}

#[cfg(test)]
mod tests {
    use super::ErrorChain;
    use std::io;
    use thiserror::Error;

    #[derive(Debug, Error)]
    #[error("heart-beat not written")]
    struct Outer(#[source] io::Error);

    #[derive(Debug, Error)]
    #[error("outer: {0}")]
    struct Repeating(#[source] io::Error);

    #[test]
    fn causes_follow_after_colons() {
        let error = Outer(io::Error::other("disk on fire"));
        assert_eq!(
            ErrorChain(&error).to_string(),
            "heart-beat not written: disk on fire"
        );
    }

    #[test]
    fn a_cause_already_told_is_not_told_twice() {
        let error = Repeating(io::Error::other("disk on fire"));
        assert_eq!(ErrorChain(&error).to_string(), "outer: disk on fire");
    }
}
