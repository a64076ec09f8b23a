-- Settles a transient failure of event $1: a new event takes its place, due $2 seconds after the attempt ended (which is now).
-- $3 SQLSTATE, $4 error, $5 start of the attempt, $6 its length in ms; $7 Processor, $8 host, $9 node.
-- (pg_relay: Retry Policy)
WITH retry AS (
    INSERT INTO pgrelay.queue
        (channel, action_type, payload, run_at, expire_at, node, deduplicate, twin_key, lane, retry_count, parent_id)
    SELECT
        q.channel, q.action_type, q.payload, clock_timestamp() + $2::double precision * interval '1 second', q.expire_at, q.node,
        q.deduplicate, q.twin_key, q.lane, q.retry_count + 1, q.id
    FROM pgrelay.queue AS q
    WHERE q.id = $1
    RETURNING id, parent_id
), settled AS (
    UPDATE pgrelay.queue AS q
    SET status = 'done', finished_at = clock_timestamp()
    WHERE q.id = $1
    RETURNING q.id, q.channel, q.retry_count
)
INSERT INTO pgrelay.log (queue_id, retry_queue_id, channel, attempt, status, sqlstate, error, started_at, elapsed_ms, processor, host, node)
SELECT s.id, r.id, s.channel, s.retry_count + 1, 'retry_scheduled', $3::text, $4::text, $5::timestamptz, $6::double precision, $7::uuid, $8::text, $9::text
FROM settled AS s
JOIN retry AS r ON r.parent_id = s.id
