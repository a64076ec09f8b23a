//! Materialised views: writes arrive, a view is refreshed after its lag, waits in its cooldown, and a chained one follows each time.

use super::DemoError;
use super::check::Verified;
use super::observe::unsigned;
use super::schema::NAME;
use crate::oneshot::DatabaseError;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use tokio_postgres::Client;

/// Lag 1 s, cooldown 3 s; the chained view follows at once.
const OBJECTS: &str = "
CREATE TABLE pgrelay_demo.sales (item text NOT NULL, amount integer NOT NULL, sold_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp());
CREATE MATERIALIZED VIEW pgrelay_demo.sales_by_item AS
SELECT s.item, pg_catalog.sum(s.amount) AS amount FROM pgrelay_demo.sales AS s GROUP BY s.item;
CREATE UNIQUE INDEX ON pgrelay_demo.sales_by_item (item);
CREATE MATERIALIZED VIEW pgrelay_demo.best_seller AS
SELECT s.item, s.amount FROM pgrelay_demo.sales_by_item AS s ORDER BY s.amount DESC LIMIT 1;
SELECT pgauto_mv.register('pgrelay_demo.sales_by_item', p_refresh_lag => 1, p_max_wait => 5, p_cooldown => 3, p_concurrent => true);
SELECT pgauto_mv.register('pgrelay_demo.best_seller', p_refresh_lag => 0, p_max_wait => 0);";

/// Longer than lag and cooldown by far.
const LIMIT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

/// What happened, in its order: seconds since the first write, and words.
const TIMELINE: &str = "
SELECT extract(epoch FROM x.at - (SELECT min(f.sold_at) FROM pgrelay_demo.sales AS f))::float8, x.what
FROM (
    SELECT s.sold_at AS at, format('%s of %s sold', s.amount, s.item) AS what FROM pgrelay_demo.sales AS s
    UNION ALL
    SELECT l.started_at, format('%s refreshed (%s%s, %s ms)', l.mv_name, l.refresh_source,
        CASE WHEN l.concurrent THEN ', concurrently' ELSE '' END, round(l.elapsed_ms::numeric, 1))
    FROM pgauto_mv.mv_refresh_log AS l WHERE l.success
    UNION ALL
    SELECT l.completed_at + interval '3 seconds', format('the cooldown of %s ends', l.mv_name)
    FROM pgauto_mv.mv_refresh_log AS l WHERE l.success AND l.mv_name = 'sales_by_item'
) AS x
ORDER BY x.at";

/// Refreshes of both views; those that began before lag and cooldown allow; those of the child before its parent's end; what the child shows.
const FOUND: &str = "
WITH log AS (
    SELECT l.*, lag(l.completed_at) OVER (PARTITION BY l.auto_mv_id ORDER BY l.log_id) AS before
    FROM pgauto_mv.mv_refresh_log AS l
    WHERE l.success
), parents AS (
    SELECT * FROM log AS l WHERE l.mv_name = 'sales_by_item'
), children AS (
    SELECT * FROM log AS l WHERE l.mv_name = 'best_seller'
)
SELECT
    (SELECT count(*) FROM parents),
    (SELECT count(*) FROM children),
    (SELECT count(*) FROM parents AS p WHERE p.started_at < p.before + interval '3 seconds'
        OR p.started_at < (SELECT max(s.sold_at) FROM pgrelay_demo.sales AS s WHERE s.sold_at < p.started_at) + interval '1 second'),
    (SELECT count(*) FROM children AS c WHERE NOT EXISTS (
        SELECT FROM parents AS p WHERE p.completed_at <= c.started_at AND (c.before IS NULL OR p.completed_at > c.before))),
    (SELECT b.amount::bigint FROM pgrelay_demo.best_seller AS b WHERE b.item = 'apples')";

/// The views, and the session that looks at them.
#[derive(Debug)]
pub(super) struct Views<'a> {
    client: &'a Client,
}

impl<'a> Views<'a> {
    /// Makes them, writes before and during the cooldown, and waits for what follows.
    pub(super) async fn show(client: &'a Client) -> Result<Self, DemoError> {
        let views = Self { client };
        views.execute(OBJECTS).await?;
        views.sell("('apples', 5)").await?;
        views.sell("('pears', 7)").await?;
        views.until_refreshed(1).await?;
        views.sell("('apples', 9)").await?;
        views.until_refreshed(2).await?;
        Ok(views)
    }

    async fn execute(&self, sql: &str) -> Result<(), DemoError> {
        let done = self.client.batch_execute(sql).await;
        Ok(done.map_err(DatabaseError::statement(
            "working with the demo's materialised views",
        ))?)
    }

    async fn sell(&self, sale: &str) -> Result<(), DemoError> {
        self.execute(&format!(
            "INSERT INTO {NAME}.sales (item, amount) VALUES {sale}"
        ))
        .await
    }

    /// Until the chained view has been refreshed so often.
    async fn until_refreshed(&self, times: u64) -> Result<(), DemoError> {
        const COUNT: &str = "SELECT count(*) FROM pgauto_mv.mv_refresh_log AS l WHERE l.success AND l.mv_name = 'best_seller'";
        let started = Instant::now();
        loop {
            let row = self.client.query_one(COUNT, &[]).await;
            let row = row.map_err(DatabaseError::statement("reading the log of refreshes"))?;
            if unsigned(row.get(0)) >= times {
                return Ok(());
            }
            if started.elapsed() > LIMIT {
                return Err(DemoError::ViewsStalled {
                    seconds: LIMIT.as_secs(),
                });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Two refreshes of each, none too early, and the right contents at the end.
    pub(super) async fn verify(&self, verified: &mut Verified) -> Result<(), DemoError> {
        let row = self.client.query_one(FOUND, &[]).await;
        let row = row.map_err(DatabaseError::statement("reading the log of refreshes"))?;
        let numbers = [
            ("sales_by_item, refreshes", 2),
            ("best_seller, refreshes", 2),
            (
                "sales_by_item, refreshes before lag or cooldown was over",
                0,
            ),
            ("best_seller, refreshes that followed none of its parent", 0),
            ("best_seller, apples sold", 14),
        ];
        for (place, (what, expected)) in numbers.into_iter().enumerate() {
            let found = unsigned(row.get::<_, Option<i64>>(place).unwrap_or_default());
            verified.number(what, "pgauto_mv.mv_refresh_log", expected, found);
        }
        Ok(())
    }

    /// The timeline.
    pub(super) async fn tell(&self) -> Result<String, DemoError> {
        let rows = self.client.query(TIMELINE, &[]).await;
        let rows = rows.map_err(DatabaseError::statement("reading the log of refreshes"))?;
        let mut text =
            "Two materialised views, lag 1 s and cooldown 3 s, from pgauto_mv.mv_refresh_log:\n"
                .to_owned();
        for row in &rows {
            let (at, what): (f64, String) = (row.get(0), row.get(1));
            let _ = writeln!(text, "  {at:6.2} s  {what}");
        }
        Ok(text)
    }
}
