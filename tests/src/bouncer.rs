//! The failure bouncer under test.

use crate::daemon::Builder;
use crate::database::Database;

/// The binary's file name.
pub const BINARY: &str = "pepsi-failure-bouncer";

/// A description of a bouncer on a database, to be changed and started with `spawn()`, or `arg("--once").run()`.
#[must_use]
pub fn builder(database: &Database) -> Builder {
    Builder::new(BINARY, "pepsi-failure-bouncer", database)
}
