-- Claims the due twins of the events about to run, so that one run serves them all.
-- $1, $2 ids and twin keys of the events about to run; $3 all ids the transaction holds.
-- A twin that a caller still shares is left: what that caller wrote is not committed yet. So is one that expired or was killed: it gets its own end.
SELECT t.id, r.id AS served_by, t.channel, t.retry_count
FROM unnest($1::bigint[], $2::bigint[]) AS r (id, twin_key)
CROSS JOIN LATERAL (
    SELECT q.id, q.channel, q.retry_count
    FROM pgrelay.queue AS q
    JOIN pgrelay.queue AS o ON o.id = r.id
    WHERE q.status = 'pending'
      AND q.twin_key = r.twin_key
      AND q.run_at <= statement_timestamp()
      AND q.deduplicate
      AND q.retry_count = 0
      AND (q.expire_at IS NULL OR q.expire_at > clock_timestamp())
      AND q.channel = o.channel
      AND q.payload IS NOT DISTINCT FROM o.payload
      AND q.id <> ALL ($3::bigint[])
    LIMIT 1000
    FOR UPDATE OF q SKIP LOCKED
) AS t
