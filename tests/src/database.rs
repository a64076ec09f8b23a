//! A database per test, dropped with the test.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{Client, Row};

use crate::gate::Gate;
use crate::postgres::{Endpoint, Server};
use crate::{template, wait};

const DROP_LIMIT: Duration = Duration::from_secs(30);

/// Query parameters, as tokio-postgres takes them.
pub type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A fresh database on a server. Dropped, with whoever is still connected to it, when the value is dropped.
///
/// With `PGRELAY_TEST_KEEP=1` it stays, and its URL is printed.
#[derive(Debug)]
pub struct Database {
    endpoint: Endpoint,
    name: String,
    session: tokio::sync::Mutex<Option<Arc<Client>>>,
}

impl Database {
    /// A database on the shared server with the queue's schema installed by the real binary.
    pub async fn with_schema() -> Self {
        Self::with_schema_on(&Server::shared().await).await
    }

    /// A database on the shared server with nothing in it.
    pub async fn empty() -> Self {
        Self::empty_on(&Server::shared().await).await
    }

    /// A database on the shared server with the queue's schema and a companion, as `install --with` names it.
    pub async fn with_companion(companion: &str) -> Self {
        let endpoint = Server::shared().await.endpoint().clone();
        let template = template::ensure(&endpoint, Some(companion)).await;
        Self::create(endpoint, &template).await
    }

    /// The same as [`Database::with_schema`], on a given server.
    pub async fn with_schema_on(server: &Server) -> Self {
        let endpoint = server.endpoint().clone();
        let template = template::ensure(&endpoint, None).await;
        Self::create(endpoint, &template).await
    }

    /// The same as [`Database::empty`], on a given server.
    pub async fn empty_on(server: &Server) -> Self {
        Self::create(server.endpoint().clone(), "template0").await
    }

    async fn create(endpoint: Endpoint, template: &str) -> Self {
        let name = fresh_name();
        let session = endpoint.connect("postgres").await;
        session
            .batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}"))
            .await
            .unwrap_or_else(|error| {
                panic!("creating {name} from {template}: {}", describe(&error))
            });
        Self {
            endpoint,
            name,
            session: tokio::sync::Mutex::new(None),
        }
    }

    /// Its name; plain lower-case letters, digits and underscores.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its server is.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// `postgres://superuser@host:port/name`.
    #[must_use]
    pub fn url(&self) -> String {
        self.endpoint.url(&self.name)
    }

    /// The URL for another login; local and container servers trust every role that may log in.
    #[must_use]
    pub fn url_as(&self, role: &str) -> String {
        self.endpoint.as_user(role).url(&self.name)
    }

    /// A new connection as superuser. Its driver runs as a task until the client is dropped.
    pub async fn connect(&self) -> Client {
        self.endpoint.connect(&self.name).await
    }

    /// A new connection that is `role` for every privilege check, `session_user` included; the role need not be able to log in.
    pub async fn as_role(&self, role: &str) -> Client {
        let client = self.connect().await;
        let quoted = role.replace('"', "\"\"");
        client
            .batch_execute(&format!("SET SESSION AUTHORIZATION \"{quoted}\""))
            .await
            .unwrap_or_else(|error| panic!("becoming {role}: {}", describe(&error)));
        client
    }

    /// The connection behind `execute` and `query_*`, renewed when the server was restarted meanwhile.
    async fn session(&self) -> Arc<Client> {
        let mut slot = self.session.lock().await;
        match slot.as_ref() {
            Some(client) if !client.is_closed() => Arc::clone(client),
            _ => Arc::clone(slot.insert(Arc::new(self.connect().await))),
        }
    }

    /// Runs any number of statements as superuser.
    ///
    /// # Panics
    /// With the server's message, detail and hint when a statement fails.
    pub async fn execute(&self, sql: &str) {
        let result = self.session().await.batch_execute(sql).await;
        result.unwrap_or_else(|error| panic!("{sql}\n{}", describe(&error)));
    }

    /// Runs statements in a session of its own and gives the messages of the warnings that came with them.
    pub async fn warnings(&self, sql: &str) -> Vec<String> {
        self.endpoint.warnings(&self.name, sql).await
    }

    /// The first column of the only row.
    pub async fn query_one<T: FromSqlOwned>(&self, sql: &str, params: Params<'_>) -> T {
        let result = self.session().await.query_one(sql, params).await;
        result
            .unwrap_or_else(|error| panic!("{sql}\n{}", describe(&error)))
            .get(0)
    }

    /// The first column of the first row, if there is one.
    pub async fn query_opt<T: FromSqlOwned>(&self, sql: &str, params: Params<'_>) -> Option<T> {
        self.rows(sql, params).await.first().map(|row| row.get(0))
    }

    /// All rows.
    pub async fn rows(&self, sql: &str, params: Params<'_>) -> Vec<Row> {
        let result = self.session().await.query(sql, params).await;
        result.unwrap_or_else(|error| panic!("{sql}\n{}", describe(&error)))
    }

    /// Waits until the query gives `expected`, and says on failure what it gave last.
    pub async fn until_equals<T>(&self, sql: &str, expected: T, deadline: Duration)
    where
        T: FromSqlOwned + PartialEq + Debug,
    {
        let expected = &expected;
        wait::until(
            &format!("{sql} to give {expected:?}"),
            deadline,
            || async move {
                match self.query_opt::<T>(sql, &[]).await {
                    Some(seen) if seen == *expected => Ok(()),
                    seen => Err(format!("{seen:?}")),
                }
            },
        )
        .await;
    }

    /// Closes a gate at which SQL can be made to wait; see [`Gate`].
    pub async fn gate(&self, key: i32) -> Gate {
        Gate::close(self, key).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if std::env::var_os("PGRELAY_TEST_KEEP").is_some() {
            eprintln!("kept: {}", self.url_as(self.endpoint.user()));
            return;
        }
        let (endpoint, name) = (self.endpoint.clone(), self.name.clone());
        // Drop cannot await, and the test's runtime may be single-threaded or ending: a thread with a runtime of its own.
        let dropping = std::thread::spawn(move || drop_now(&endpoint, &name));
        if dropping.join().is_err() {
            eprintln!("dropping the database failed");
        }
    }
}

fn drop_now(endpoint: &Endpoint, name: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    // A server that is gone has taken the database along, and the next run sweeps what a live one has kept.
    let dropping = async { tokio::time::timeout(DROP_LIMIT, drop_database(endpoint, name)).await };
    let _ = runtime.block_on(dropping);
}

pub(crate) async fn drop_database(endpoint: &Endpoint, name: &str) -> Option<()> {
    let session = endpoint.try_connect("postgres").await.ok()?;
    let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
    session.batch_execute(&sql).await.ok()
}

/// What every database of these tests begins with, on this host.
pub(crate) fn name_prefix() -> String {
    // Several hosts may test on one server, and process ids mean something on their own host only.
    let host = nix::unistd::gethostname().unwrap_or_default();
    let sum = host.as_encoded_bytes().iter().fold(0_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(*byte))
    });
    format!("pgrelay_test_{sum:08x}_")
}

fn fresh_name() -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{}{}_{number}", name_prefix(), std::process::id())
}

/// The server's own words about an error; tokio-postgres alone says "db error".
#[must_use]
pub fn describe(error: &tokio_postgres::Error) -> String {
    let Some(server) = error.as_db_error() else {
        return format!("{error:?}");
    };
    let part = |name: &str, text: Option<&str>| {
        text.map_or(String::new(), |text| format!("\n{name}: {text}"))
    };
    format!(
        "{} {}{}{}{}",
        server.code().code(),
        server.message(),
        part("DETAIL", server.detail()),
        part("HINT", server.hint()),
        part("WHERE", server.where_()),
    )
}
