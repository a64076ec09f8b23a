-- Takes the claim lock of the first due event of parallel notify channels that nobody has claimed, among the first $1 from the place
-- ($2, $3) on, and names it in pgrelay.event_id for the claim that follows. $4 this node; $5, $6 regular expressions of served and
-- excluded channels, NULL for no restriction; $7 events of our own workers and postponed ones, which are not worth a try.
-- Always one row: the place of the locked event, how many were looked at, and the place of the last of them.
WITH due AS MATERIALIZED (
    SELECT q.id, q.run_at
    FROM pgrelay.queue AS q
    WHERE q.status = 'pending'
      AND q.action_type = 'notify'
      AND q.lane IS NULL
      AND (q.run_at, q.id) >= ($2, $3)
      AND q.run_at <= statement_timestamp()
      AND (q.node IS NULL OR q.node = $4)
      AND ($5::text IS NULL OR q.channel ~ $5)
      AND ($6::text IS NULL OR q.channel !~ $6)
      AND q.id <> ALL ($7::bigint[])
      AND NOT EXISTS (SELECT FROM pgrelay.fleet AS f WHERE f.paused_until > statement_timestamp())
    ORDER BY q.run_at, q.id
    LIMIT $1
), locked AS MATERIALIZED (
    SELECT d.id, d.run_at, set_config('pgrelay.event_id', d.id::text, true) AS named
    FROM due AS d
    WHERE pg_try_advisory_xact_lock(pgrelay._claim_key(d.id))
    LIMIT 1
), last AS (
    SELECT d.id, d.run_at
    FROM due AS d
    ORDER BY d.run_at DESC, d.id DESC
    LIMIT 1
)
SELECT
    l.id, l.run_at, l.named,
    n.looked_at,
    e.id AS last_id, e.run_at AS last_run_at
FROM (SELECT count(*) AS looked_at FROM due) AS n
LEFT JOIN locked AS l ON true
LEFT JOIN last AS e ON true
