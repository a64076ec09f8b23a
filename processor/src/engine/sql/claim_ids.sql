-- $2: whether events of lanes count too; then the caller only records a verdict. To be run, they need their lane's lock.
-- Claims those of the events $1 that are still pending, due and unlocked: the single runs after a batch, marked events, re-claims.
WITH claimed AS MATERIALIZED (
    SELECT
        q.id, q.run_at, q.expire_at, q.retry_count, q.deduplicate, q.twin_key, q.lane, q.action_type, q.channel, q.node, q.payload
    FROM pgrelay.queue AS q
    WHERE q.id = ANY ($1::bigint[])
      -- Pending; said so that no pending index looks as good as the primary key while the table is small.
      AND q.finished_at IS NULL
      AND q.action_type = 'sql'
      AND ($2 OR q.lane IS NULL)
      AND q.run_at <= statement_timestamp()
      AND NOT EXISTS (SELECT FROM pgrelay.fleet AS f WHERE f.paused_until > statement_timestamp())
    ORDER BY q.run_at, q.id
    FOR UPDATE OF q SKIP LOCKED
)
