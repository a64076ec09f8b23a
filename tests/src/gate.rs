//! A gate at which SQL waits: it orders the steps of a test without sleeping.

use std::time::Duration;

use tokio_postgres::Client;

use crate::database::Database;
use crate::wait;

/// An advisory lock held by the test. SQL stops at [`Gate::pass_sql`] until the gate is opened.
///
/// ```no_run
/// # async fn a_test(db: &fleet_tests::database::Database) {
/// let gate = db.gate(7).await;
/// // … an action that runs gate.pass_sql() is started here …
/// gate.wait_for_arrivals(1).await;
/// gate.open().await;
/// # }
/// ```
#[derive(Debug)]
pub struct Gate {
    session: Client,
    key: i32,
}

// The two-part keys of advisory locks are apart from the one-part keys that the queue uses.
const SPACE: i32 = 0x6761_7465;

impl Gate {
    /// Closes the gate numbered `key` of a database.
    pub async fn close(database: &Database, key: i32) -> Self {
        let session = database.connect().await;
        session
            .execute("SELECT pg_advisory_lock($1, $2)", &[&SPACE, &key])
            .await
            .expect("closing the gate");
        Self { session, key }
    }

    /// The statement that waits at this gate; the lock is shared, so that any number may pass at once.
    #[must_use]
    pub fn pass_sql(&self) -> String {
        format!("SELECT pg_advisory_xact_lock_shared({SPACE}, {})", self.key)
    }

    /// How many sessions stand at the gate.
    pub async fn arrivals(&self) -> i64 {
        // pg_locks shows the two halves of the key as unsigned oids.
        let sql = "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database \
                   WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted \
                   AND classid::int8 = $1::int4::int8 AND objid::int8 = $2::int4::int8 AND objsubid = 2";
        let row = self.session.query_one(sql, &[&SPACE, &self.key]).await;
        row.expect("counting the sessions at the gate").get(0)
    }

    /// Waits until at least `count` sessions stand at the gate.
    pub async fn wait_for_arrivals(&self, count: i64) {
        let what = format!("{count} sessions at gate {}", self.key);
        wait::until(&what, Duration::from_secs(20), || async {
            match self.arrivals().await {
                seen if seen >= count => Ok(()),
                seen => Err(format!("{seen} sessions")),
            }
        })
        .await;
    }

    /// Lets everybody pass. Dropping the gate does the same, a little later.
    pub async fn open(self) {
        self.session
            .execute("SELECT pg_advisory_unlock($1, $2)", &[&SPACE, &self.key])
            .await
            .expect("opening the gate");
    }
}
