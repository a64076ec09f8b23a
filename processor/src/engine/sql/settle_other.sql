-- Settles events that ended in any other way: $1 ids, $2 channels, $3 attempt numbers, $4 queue status, $5 log status, $6 SQLSTATE,
-- $7 error, $8 the event that served it; $9 start of the attempts, $10 their length in ms; $11 Processor, $12 host, $13 node.
WITH verdicts AS MATERIALIZED (
    SELECT *
    FROM unnest($1::bigint[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[])
        AS v (id, channel, attempt, queue_status, log_status, sqlstate, error, served_by)
), settled AS (
    UPDATE pgrelay.queue AS q
    SET status = v.queue_status, finished_at = clock_timestamp()
    FROM verdicts AS v
    WHERE q.id = v.id
      -- See settle_done.
      AND q.finished_at IS NULL
)
INSERT INTO pgrelay.log (queue_id, channel, attempt, status, sqlstate, error, served_by, started_at, elapsed_ms, processor, host, node)
SELECT v.id, v.channel, v.attempt, v.log_status, v.sqlstate, v.error, v.served_by, $9::timestamptz, $10::double precision, $11::uuid, $12::text, $13::text
FROM verdicts AS v
