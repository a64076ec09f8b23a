-- Settles events whose action succeeded: $1 ids, $2 channels, $3 attempt numbers, $4 start of each attempt in ms after $6,
-- $5 its length in ms; $7 Processor, $8 host, $9 node.
WITH settled AS (
    UPDATE pgrelay.queue AS q
    SET status = 'done', finished_at = clock_timestamp()
    WHERE q.id = ANY ($1::bigint[])
      -- A notify event is not locked while it is sent: who ended it meanwhile had the last word.
      AND q.finished_at IS NULL
)
INSERT INTO pgrelay.log (queue_id, channel, attempt, status, started_at, elapsed_ms, processor, host, node)
SELECT s.id, s.channel, s.attempt, 'ok', $6::timestamptz + s.started_ms * interval '1 millisecond', s.elapsed_ms, $7::uuid, $8::text, $9::text
FROM unnest($1::bigint[], $2::text[], $3::integer[], $4::double precision[], $5::double precision[])
    AS s (id, channel, attempt, started_ms, elapsed_ms)
