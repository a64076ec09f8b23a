-- Claims the head of lane $1, whose lock the transaction holds; $2 and $3 as $5 and $6 of claim_ready.
-- The head is read without SKIP LOCKED, under a snapshot taken after the lane was locked, and exactly that row is locked:
-- when it cannot be had the lane is left alone, because its second event must not run first.
WITH head AS MATERIALIZED (
    SELECT q.id
    FROM pgrelay.queue AS q
    WHERE q.status = 'pending'
      AND q.action_type = 'sql'
      AND q.lane IS NOT NULL
      -- Not "=": the lane would be a constant, and the index of all lanes in the order of their events would do for the order.
      AND q.lane BETWEEN $1 AND $1
      AND q.run_at <= statement_timestamp()
      AND NOT EXISTS (SELECT FROM pgrelay.fleet AS f WHERE f.paused_until > statement_timestamp())
    ORDER BY q.lane, q.run_at, q.id
    LIMIT 1
), claimed AS MATERIALIZED (
    SELECT
        q.id, q.run_at, q.expire_at, q.retry_count, q.deduplicate, q.twin_key, q.lane, q.action_type, q.channel, q.node, q.payload
    FROM pgrelay.queue AS q
    WHERE q.id = (SELECT h.id FROM head AS h)
      -- Pending; said so that no pending index looks as good as the primary key while the table is small.
      AND q.finished_at IS NULL
      AND ($2::text IS NULL OR q.channel ~ $2)
      AND ($3::text IS NULL OR q.channel !~ $3)
    FOR UPDATE OF q SKIP LOCKED
)
