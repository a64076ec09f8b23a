//! The Processor under test, and its one-shot commands.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::command::{self, Output};
use crate::daemon::{Builder, Daemon};
use crate::database::Database;
use crate::wait;

/// The binary's file name.
pub const BINARY: &str = "pg-relay-processor";

const READY_LIMIT: Duration = Duration::from_secs(20);

/// A running `pg-relay-processor`; see [`Daemon`] for what can be done to it.
///
/// ```no_run
/// # async fn a_test(db: &fleet_tests::database::Database) {
/// use fleet_tests::processor::Processor;
/// use serde_json::json;
///
/// let mut processor = Processor::with(db, |config| config.set("SQL_WORKERS", 2).set("CHANNELS", json!(["a*"]))).await;
/// processor.terminate();
/// assert_eq!(processor.wait_exit(fleet_tests::wait::SOON).await, 0);
/// # }
/// ```
#[derive(Debug)]
pub struct Processor(Daemon);

impl Processor {
    /// A Processor with default settings, ready to work.
    pub async fn start(database: &Database) -> Self {
        Self::with(database, |config| config).await
    }

    /// A Processor with changed settings, ready to work.
    pub async fn with(database: &Database, change: impl FnOnce(Builder) -> Builder) -> Self {
        let mut processor = Self(change(Self::builder(database)).arg("run").spawn());
        processor.wait_ready(database).await;
        processor
    }

    /// A description to be changed and then started by hand, with `arg("run").spawn()` or `arg("check").run()`.
    #[must_use]
    pub fn builder(database: &Database) -> Builder {
        Builder::new(BINARY, "pg-relay-processor", database).set("LOG_LEVEL", "debug")
    }

    /// Takes over what [`Builder::spawn`] has started; it need not be ready.
    #[must_use]
    pub fn from_daemon(daemon: Daemon) -> Self {
        Self(daemon)
    }

    /// Waits until it is registered in the fleet, which it does after its preflight.
    ///
    /// # Panics
    /// When it ends before that, or takes too long.
    pub async fn wait_ready(&mut self, database: &Database) {
        let pid = i32::try_from(self.pid()).expect("a process id fits");
        let sql =
            "SELECT EXISTS (SELECT FROM pgrelay.processors WHERE pid = $1 AND state <> 'starting')";
        let daemon = std::cell::RefCell::new(&mut self.0);
        wait::until("the Processor to register", READY_LIMIT, || async {
            let code = daemon.borrow_mut().exit_code();
            assert!(
                code.is_none(),
                "the Processor ended with {code:?} before it was ready"
            );
            database.query_one::<bool>(sql, &[&pid]).await.then_some(())
        })
        .await;
    }
}

impl Deref for Processor {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.0
    }
}

impl DerefMut for Processor {
    fn deref_mut(&mut self) -> &mut Daemon {
        &mut self.0
    }
}

/// Runs a one-shot command such as `check` or `install` on a database.
pub async fn command(database: &Database, arguments: &[&str]) -> Output {
    command_at(&database.url(), arguments).await
}

/// Runs a one-shot command with any database URL.
pub async fn command_at(url: &str, arguments: &[&str]) -> Output {
    let all: Vec<&str> = ["--database", url]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    command::run(BINARY, &all).await
}
