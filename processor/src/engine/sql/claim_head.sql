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
        q.id, q.run_at, q.expire_at, q.retry_count, q.deduplicate, q.twin_key, q.lane, q.channel, q.node, q.payload
    FROM pgrelay.queue AS q
    WHERE q.id = (SELECT h.id FROM head AS h)
      -- Pending; said so that no pending index looks as good as the primary key while the table is small.
      AND q.finished_at IS NULL
      AND ($2::text IS NULL OR q.channel ~ $2)
      AND ($3::text IS NULL OR q.channel !~ $3)
    FOR UPDATE OF q SKIP LOCKED
)
SELECT
    c.id,
    c.run_at,
    c.channel,
    c.retry_count,
    c.deduplicate,
    c.twin_key,
    -- A large payload is fetched by the attempt itself, so that a batch never holds many of them.
    CASE WHEN octet_length(c.payload) <= 65536 THEN c.payload END AS payload,
    coalesce(octet_length(c.payload) > 65536, false) AS payload_is_large,
    coalesce(c.expire_at <= clock_timestamp(), false) AS expired,
    coalesce(c.expire_at = '-infinity', false) AS killed,
    (SELECT count(*) FROM pgrelay.crashes AS x WHERE x.queue_id = c.id AND x.counted) AS crashes,
    clock_timestamp() AS claimed_at,
    ch.channel IS NOT NULL AS registered,
    coalesce(ch.enabled, false) AS enabled,
    ch.action_sql,
    coalesce(ch.max_retries, 0) AS max_retries,
    coalesce((extract(epoch FROM ch.action_timeout) * 1000)::bigint, 300000) AS timeout_ms,
    coalesce(ch.batch, false) AS batch,
    ch.channel IS NULL OR c.lane IS NOT DISTINCT FROM pgrelay._lane(ch.concurrency_mode, c.channel, c.node, c.twin_key) AS in_lane
FROM claimed AS c
LEFT JOIN pgrelay.channels AS ch ON ch.channel = c.channel AND ch.action_type = 'sql'
ORDER BY c.run_at, c.id
