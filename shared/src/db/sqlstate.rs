//! What an SQLSTATE says about an attempt. Pure: no text is ever looked at.

use tokio_postgres::error::SqlState;

/// SQLSTATEs that our own SQL raises for a caller's mistake.
pub mod codes {
    /// The channel is not registered.
    pub const UNREGISTERED_CHANNEL: &str = "PR001";
    /// A channel of that name exists already.
    pub const CHANNEL_EXISTS: &str = "PR002";
    /// An argument is out of its range or contradicts another.
    pub const BAD_ARGUMENT: &str = "PR003";
    /// The payload is larger than the queue accepts.
    pub const PAYLOAD_TOO_LARGE: &str = "PR004";
    /// The thing exists, but not in a state in which this can be done to it.
    pub const WRONG_STATE: &str = "PR005";

    /// All of them, for tests and documentation.
    pub const ALL: [&str; 5] = [
        UNREGISTERED_CHANNEL,
        CHANNEL_EXISTS,
        BAD_ARGUMENT,
        PAYLOAD_TOO_LARGE,
        WRONG_STATE,
    ];
}

/// Whose statement failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The channel's own statement.
    Action,
    /// COMMIT, where the deferred constraints and triggers of the action speak.
    Commit,
    /// A statement of this program.
    Ours,
}

/// What the failure says about the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The same attempt may succeed later.
    Transient,
    /// Trying again would fail again.
    Permanent,
    /// Nothing is known about the attempt: the event stays as it is and is claimed again.
    NotJudged,
}

/// What can be told from an SQLSTATE, or from its absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// Class 40: the server rolled the transaction back for reasons of concurrency.
    RolledBack,
    /// The server named any other reason.
    Named,
    /// No SQLSTATE: the connection was lost, or the error is not the server's.
    Silent,
}

/// Judges an error by where it struck and its SQLSTATE; `None` means that the server gave none.
///
/// An action may raise any SQLSTATE it likes, 57P01 included, so a code in the shutdown class
/// from an action is no proof that the server is going away.
#[must_use]
pub fn judge(origin: Origin, state: Option<&SqlState>) -> Judgement {
    match (evidence(state), origin) {
        (Evidence::RolledBack, Origin::Action | Origin::Commit | Origin::Ours) => {
            Judgement::Transient
        }
        (Evidence::Named, Origin::Action | Origin::Commit) => Judgement::Permanent,
        (Evidence::Named, Origin::Ours)
        | (Evidence::Silent, Origin::Action | Origin::Commit | Origin::Ours) => {
            Judgement::NotJudged
        }
    }
}

fn evidence(state: Option<&SqlState>) -> Evidence {
    match state {
        Some(state) if state.code().starts_with("40") => Evidence::RolledBack,
        Some(_) => Evidence::Named,
        None => Evidence::Silent,
    }
}

#[cfg(test)]
mod tests {
    use super::{Judgement, Origin, codes, judge};
    use std::collections::BTreeSet;
    use tokio_postgres::error::SqlState;

    #[test]
    fn the_table_of_judgements() {
        use Judgement::{NotJudged, Permanent, Transient};
        // state, action, commit, ours
        let table = [
            (Some("40001"), Transient, Transient, Transient),
            (Some("40P01"), Transient, Transient, Transient),
            (Some("40000"), Transient, Transient, Transient),
            (Some("23503"), Permanent, Permanent, NotJudged),
            (Some("23505"), Permanent, Permanent, NotJudged),
            (Some("42P01"), Permanent, Permanent, NotJudged),
            (Some("57014"), Permanent, Permanent, NotJudged),
            (Some("57P01"), Permanent, Permanent, NotJudged),
            (Some("53300"), Permanent, Permanent, NotJudged),
            (Some("0A000"), Permanent, Permanent, NotJudged),
            (Some("26000"), Permanent, Permanent, NotJudged),
            (Some("P0001"), Permanent, Permanent, NotJudged),
            (Some("04000"), Permanent, Permanent, NotJudged),
            (None, NotJudged, NotJudged, NotJudged),
        ];
        for (code, action, commit, ours) in table {
            let state = code.map(SqlState::from_code);
            let state = state.as_ref();
            assert_eq!(
                judge(Origin::Action, state),
                action,
                "{code:?} of an action"
            );
            assert_eq!(judge(Origin::Commit, state), commit, "{code:?} at commit");
            assert_eq!(judge(Origin::Ours, state), ours, "{code:?} of ours");
        }
    }

    #[test]
    fn our_own_codes_are_distinct_and_well_formed() {
        let distinct: BTreeSet<_> = codes::ALL.into_iter().collect();
        assert_eq!(distinct.len(), codes::ALL.len());
        for code in codes::ALL {
            assert!(code.starts_with("PR") && code.len() == 5, "{code}");
        }
    }
}
