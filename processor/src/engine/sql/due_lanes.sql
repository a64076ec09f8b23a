-- Lanes of the first 100 due events of lane channels, in the order of their events. Nothing is locked.
-- $1 this node; $2, $3 regular expressions of served and excluded channels.
SELECT d.lane
FROM (
    SELECT q.lane, q.run_at, q.id
    FROM pgrelay.queue AS q
    WHERE q.status = 'pending'
      AND q.action_type = '{action_type}'
      AND q.lane IS NOT NULL
      AND q.run_at <= statement_timestamp()
      AND (q.node IS NULL OR q.node = $1)
      AND ($2::text IS NULL OR q.channel ~ $2)
      AND ($3::text IS NULL OR q.channel !~ $3)
      AND NOT EXISTS (SELECT FROM pgrelay.fleet AS f WHERE f.paused_until > statement_timestamp())
    ORDER BY q.run_at, q.id
    LIMIT 100
) AS d
GROUP BY d.lane
ORDER BY min(d.run_at), min(d.id)
