//! Steps of the tests with several nodes: a server whose databases replicate to each other.

use fleet_tests::database::Database;
use fleet_tests::postgres::{Bindir, PrivateOptions, Server};
use fleet_tests::wait;

use crate::auto_mv_steps::{QUEUED, database_on, register};

/// What of `pg_auto_mv` the nodes share.
pub(crate) const SHARED: &str =
    "pgauto_mv.schedules, pgauto_mv.materialised_views, pgauto_mv.mv_sources, pgauto_mv.mv_chain";

/// A server of its own, with room for the slots and workers of some subscriptions.
pub(crate) async fn server(bindir: Option<Bindir>) -> Server {
    Server::private(PrivateOptions {
        settings: &[
            ("wal_level", "logical"),
            ("wal_retrieve_retry_interval", "100ms"),
            ("max_sync_workers_per_subscription", "8"),
            ("max_replication_slots", "20"),
            ("max_wal_senders", "20"),
            ("max_logical_replication_workers", "20"),
            ("max_worker_processes", "40"),
        ],
        bindir,
        ..PrivateOptions::default()
    })
    .await
}

/// Replicates publications of `from`, with these further options of the subscription, such as `, origin = none`. Within one server the slot must be
/// there before the subscription.
pub(crate) async fn subscribe(to: &Database, from: &Database, publications: &str, options: &str) {
    let slot = format!("{}_{}", to.name(), from.name());
    let slot = &slot[slot.len().saturating_sub(60)..];
    from.execute(&format!(
        "SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')"
    ))
    .await;
    to.execute(&format!(
        "CREATE SUBSCRIPTION {slot} CONNECTION 'host={} port={} user={} dbname={}' PUBLICATION {publications}
         WITH (create_slot = false, slot_name = '{slot}'{options})",
        from.endpoint().host(),
        from.endpoint().port(),
        from.endpoint().user(),
        from.name()
    ))
    .await;
    let ready = "SELECT count(*) FROM pg_subscription_rel WHERE srsubstate NOT IN ('r', 's')";
    to.until_equals(ready, 0_i64, wait::SOON).await;
}

const TABLES: &str = "
    CREATE TABLE public.t (id integer PRIMARY KEY, v integer NOT NULL DEFAULT 1);
    CREATE TABLE public.u (id integer PRIMARY KEY, v integer NOT NULL DEFAULT 1);
    CREATE TABLE public.marks (mark uuid PRIMARY KEY DEFAULT gen_random_uuid());
    CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.t;
    CREATE MATERIALIZED VIEW public.mu AS SELECT count(*) AS n FROM public.u";

/// Two nodes, `a` and `b`, of one server, that replicate to each other all they may share, the queue included. `mv`, over `t`, is registered on `a`,
/// `mu`, over `u`, on `b`.
pub(crate) struct BothWays {
    pub(crate) a: Database,
    pub(crate) b: Database,
    pub(crate) mv: String,
    pub(crate) mu: String,
    _server: Server,
}

impl BothWays {
    /// Registers both views with these settings. The error says why this machine cannot have the nodes.
    pub(crate) async fn with(settings: &str) -> Result<Self, &'static str> {
        let bindir = Bindir::all().into_iter().find(knows_origins);
        let bindir = bindir.ok_or("no PostgreSQL 16 or newer is there")?;
        let server = server(Some(bindir)).await;
        let (a, b) = (database_on(&server).await, database_on(&server).await);
        for (node, name, number) in [(&a, "a", 1), (&b, "b", 2)] {
            node.execute(TABLES).await;
            node.execute(&format!(
                "SELECT pgrelay.set_node('{name}', {number}, 2);
                 CREATE PUBLICATION everything FOR TABLE public.t, public.u, public.marks, {SHARED}, pgauto_mv.mv_sync_requests, pgrelay.queue"
            ))
            .await;
        }
        subscribe(&b, &a, "everything", ", origin = none").await;
        subscribe(&a, &b, "everything", ", origin = none").await;
        let mv = register(&a, "public.mv", settings).await;
        let mu = register(&b, "public.mu", settings).await;
        let nodes = Self {
            a,
            b,
            mv,
            mu,
            _server: server,
        };
        nodes.exchanged().await;
        for node in nodes.both() {
            node.execute("SELECT pgauto_mv.reconcile(); DELETE FROM pgauto_mv.mv_events")
                .await;
        }
        nodes.exchanged().await;
        // The dispatches of reconcile(): nothing is pending that they could be for.
        nodes
            .a
            .execute("DELETE FROM pgrelay.queue WHERE channel <> 'pg_auto_mv.upkeep'")
            .await;
        nodes.exchanged().await;
        Ok(nodes)
    }

    pub(crate) fn both(&self) -> [&Database; 2] {
        [&self.a, &self.b]
    }

    /// Waits until each node has what was committed on the other.
    pub(crate) async fn exchanged(&self) {
        for (from, to) in [(&self.a, &self.b), (&self.b, &self.a)] {
            let mark: String = from
                .query_one(
                    "INSERT INTO public.marks DEFAULT VALUES RETURNING mark::text",
                    &[],
                )
                .await;
            let arrived = format!("SELECT count(*) FROM public.marks WHERE mark = '{mark}'");
            to.until_equals(&arrived, 1_i64, wait::SOON).await;
        }
    }

    /// Waits until no event is left on either node, and each has all requests, this many.
    pub(crate) async fn quiet(&self, requests: i64) {
        for node in self.both() {
            let sent = "SELECT count(*) FROM pgauto_mv.mv_sync_requests";
            node.until_equals(sent, requests, wait::SOON).await;
        }
        // What a request leads to is in its own transaction, so that it is seen from here on.
        for node in self.both() {
            node.until_equals(QUEUED, 0_i64, wait::SOON).await;
        }
        self.exchanged().await;
    }
}

/// Whether subscriptions can leave out what has come from elsewhere, `origin = none`.
fn knows_origins(bindir: &Bindir) -> bool {
    let version = bindir.version();
    let number = version.split_whitespace().nth(2).unwrap_or_default();
    let major = number.split(|c: char| !c.is_ascii_digit()).next();
    major
        .and_then(|major| major.parse::<u32>().ok())
        .is_some_and(|major| major >= 16)
}
