-- Takes lane $1 and the claim lock of its head, and names the head in pgrelay.event_id for the claim that follows, which reads the lane
-- again: this snapshot is older than the locks. $2, $3 regular expressions of served and excluded channels. No row: not to be had.
WITH head AS MATERIALIZED (
    SELECT q.id, q.channel
    FROM pgrelay.queue AS q
    WHERE q.status = 'pending'
      AND q.action_type = 'notify'
      AND q.lane IS NOT NULL
      -- Not "=": the lane would be a constant, and the index of all lanes in the order of their events would do for the order.
      AND q.lane BETWEEN $1 AND $1
      AND q.run_at <= statement_timestamp()
      AND NOT EXISTS (SELECT FROM pgrelay.fleet AS f WHERE f.paused_until > statement_timestamp())
    ORDER BY q.lane, q.run_at, q.id
    LIMIT 1
)
SELECT h.id, set_config('pgrelay.event_id', h.id::text, true) AS named
FROM head AS h
-- In this order, each only if the one before it holds.
WHERE CASE
    WHEN ($2::text IS NULL OR h.channel ~ $2) AND ($3::text IS NULL OR h.channel !~ $3)
    THEN CASE
        WHEN pg_try_advisory_xact_lock($1) THEN pg_try_advisory_xact_lock(pgrelay._claim_key(h.id))
    END
END
