//! The failure bouncer under test, and a mail queue for it.

use nix::unistd::Uid;

use crate::daemon::{Builder, Daemon};
use crate::database::Database;
use crate::postgres::Server;
use crate::{processor, wait};

/// The binary's file name.
pub const BINARY: &str = "pepsi-failure-bouncer";

/// The stage that tests have messages handed to.
pub const STAGE: &str = "bounce";

/// An account without privileges that every machine has: what the bouncer becomes when the tests run as root.
pub const ACCOUNT: &str = "nobody";

/// A description of a bouncer on a database, to be changed and started with `spawn()`, or `arg("--once").run()`.
#[must_use]
pub fn builder(database: &Database) -> Builder {
    Builder::new(BINARY, "pepsi-failure-bouncer", database)
        .set("BOUNCE_STAGE", STAGE)
        .set("USER", ACCOUNT)
        .set("LOG_LEVEL", "debug")
        .set_in("pepsi-postgres", "USER", "pepsi")
}

/// Whether a bouncer that the tests start has privileges to drop.
#[must_use]
pub fn starts_as_root() -> bool {
    Uid::effective().is_root()
}

/// A database on the shared server with our own `pepsi.ingress`, installed by the real binary.
pub async fn database() -> Database {
    database_on(&Server::shared().await).await
}

/// The same, on a given server.
pub async fn database_on(server: &Server) -> Database {
    let database = Database::with_schema_on(server).await;
    let output = processor::command(&database, &["install", "--with", "pepsi"]).await;
    assert_eq!(output.code, 0, "{output}");
    database
}

/// Starts a bouncer and waits until it listens, and so has begun to sweep.
pub async fn start(builder: Builder) -> Daemon {
    let mut daemon = builder.spawn();
    daemon.wait_for_log("listening on", wait::SOON).await;
    daemon
}
