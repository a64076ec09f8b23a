//! The tables, the function and the channels that the demo's actions need.

use super::DemoError;
use super::plan::Plan;
use crate::oneshot::DatabaseError;
use tokio_postgres::Client;

/// The schema everything of the demo lives in; also what its channels' names begin with.
pub(super) const NAME: &str = "pgrelay_demo";

const MARK: &str = "made by pg-relay-processor demo, which removes it at its end";

const OBJECTS: &str = "
CREATE TABLE pgrelay_demo.orders (id bigint PRIMARY KEY);
CREATE TABLE pgrelay_demo.shipments (order_id bigint PRIMARY KEY);
CREATE TABLE pgrelay_demo.stock (
    item   text    NOT NULL,
    amount integer NOT NULL CONSTRAINT stock_amount_not_negative CHECK (amount >= 0)
);
CREATE TABLE pgrelay_demo.ledger (place bigint GENERATED ALWAYS AS IDENTITY, entry bigint NOT NULL);
CREATE TABLE pgrelay_demo.refreshed (view_name text NOT NULL);
CREATE TABLE pgrelay_demo.recovered (item text NOT NULL);
-- A rolled back attempt leaves no trace to count by, but the event knows how many there were before it.
CREATE FUNCTION pgrelay_demo.succeed_at(p_attempt integer, p_sqlstate text, p_item text)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_attempt integer;
BEGIN
    SELECT q.retry_count + 1 INTO v_attempt
    FROM pgrelay.queue AS q
    WHERE q.id = current_setting('pgrelay.event_id')::bigint;
    IF v_attempt < p_attempt THEN
        RAISE EXCEPTION USING ERRCODE = p_sqlstate, MESSAGE = format('attempt %s fails on purpose', v_attempt);
    END IF;
    INSERT INTO pgrelay_demo.recovered (item) VALUES (p_item);
END
$$;";

/// Makes them, and says what can be sent: not everything where a notifier is installed.
pub(super) async fn create(client: &Client, plan: Plan) -> Result<Plan, DemoError> {
    const LOCK: &str = "SELECT pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended('pgrelay_demo', 5283400))";
    const NOTIFIER: &str =
        "SELECT EXISTS (SELECT FROM pgrelay.companions AS c WHERE c.name = 'pg_relay_notifier')";
    const FOREIGN: &str =
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'pgrelay_demo'
             AND pg_catalog.obj_description(n.oid, 'pg_namespace')
                 IS DISTINCT FROM 'made by pg-relay-processor demo, which removes it at its end')";
    if !ask(client, LOCK).await? {
        return Err(DemoError::AnotherDemo);
    }
    if ask(client, FOREIGN).await? {
        return Err(DemoError::ForeignSchema { name: NAME });
    }
    drop(client).await?;
    let plan = if ask(client, NOTIFIER).await? {
        plan.without_notifications()
    } else {
        plan
    };
    let create = format!("CREATE SCHEMA {NAME}; COMMENT ON SCHEMA {NAME} IS '{MARK}'; {OBJECTS}");
    client
        .batch_execute(&create)
        .await
        .map_err(DatabaseError::statement("creating the demo's tables"))?;
    register(client, &plan).await?;
    Ok(plan)
}

async fn ask(client: &Client, question: &str) -> Result<bool, DemoError> {
    let row = client.query_one(question, &[]).await;
    let row = row.map_err(DatabaseError::statement("looking for other demos"))?;
    Ok(row.get(0))
}

async fn register(client: &Client, plan: &Plan) -> Result<(), DemoError> {
    const REGISTER: &str = "SELECT pgrelay.register($1, $2, max_retries := $3, action_type := $4, concurrency_mode := $5, description := $6)";
    const SWITCH_OFF: &str = "SELECT pgrelay.update($1, p_enabled := false)";
    for planned in &plan.channels {
        let channel = &planned.channel;
        let action_type = channel.action.map_or("notify", |_| "sql");
        client
            .execute(
                REGISTER,
                &[
                    &channel.name,
                    &channel.action,
                    &channel.max_retries,
                    &action_type,
                    &channel.mode,
                    &channel.shows,
                ],
            )
            .await
            .map_err(DatabaseError::statement("registering the demo's channels"))?;
        if !channel.enabled {
            client
                .execute(SWITCH_OFF, &[&channel.name])
                .await
                .map_err(DatabaseError::statement("disabling a channel"))?;
        }
    }
    Ok(())
}

/// Removes what this demo, or one that was interrupted, has made. Events and log rows stay: they are an audit trail. But what is
/// pending must not run in the tables of the next demo.
pub(super) async fn drop(client: &Client) -> Result<(), DemoError> {
    const DROP: &str = "
        SELECT pgrelay.kill(q.id) FROM pgrelay.queue AS q WHERE q.status = 'pending' AND q.channel LIKE 'pgrelay\\_demo.%';
        SELECT pgrelay.unregister(c.channel) FROM pgrelay.channels AS c WHERE c.channel LIKE 'pgrelay\\_demo.%';
        DROP SCHEMA IF EXISTS pgrelay_demo CASCADE;";
    client
        .batch_execute(DROP)
        .await
        .map_err(DatabaseError::statement("removing the demo's tables"))?;
    Ok(())
}
