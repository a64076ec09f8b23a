//! PostgreSQL servers: one shared by all tests of a run, and private ones for tests that break theirs.

mod binaries;
mod cluster;
mod container;
mod endpoint;
mod leftovers;
mod private;
mod shared;
pub mod supervisor;

pub use binaries::Bindir;
pub(crate) use cluster::free_port;
pub use endpoint::Endpoint;
pub(crate) use leftovers::directory_prefix;
pub use private::{PrivateOptions, StopMode};
pub use shared::{start_for as start_shared, stop as stop_shared};

use cluster::Cluster;

/// A running PostgreSQL server.
///
/// The shared one outlives the value. A private one is stopped and removed with it.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    source: String,
    cluster: Option<Cluster>,
}

impl Server {
    /// The server of this run, started by whichever test process comes first.
    ///
    /// It is the one at `PGRELAY_TEST_DATABASE_URL`; else a container, where a Docker engine answers and the image is
    /// there or can be had; else a throw-away cluster made with the machine's own binaries.
    ///
    /// # Panics
    /// When there is none of them, or it does not start.
    pub async fn shared() -> Self {
        let shared = shared::acquire().await;
        Self {
            endpoint: shared.endpoint,
            source: shared.source,
            cluster: None,
        }
    }

    /// A server of its own for this test, from the machine's binaries or those of `options.bindir`.
    pub async fn private(options: PrivateOptions<'_>) -> Self {
        private::start(options).await
    }

    /// Where it is, and who its superuser is.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Where it came from, in words.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// `postgres://superuser@host:port/database`.
    #[must_use]
    pub fn connection_string(&self, database: &str) -> String {
        self.endpoint.url(database)
    }

    /// Its TCP port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.endpoint.port()
    }
}
