-- Candidates of the notify pool, up to $1, oldest first from the floor ($2, $3). Nothing is locked: the claim is an advisory lock.
-- $4 this node; $5, $6 channel restrictions.
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
  AND NOT EXISTS (SELECT FROM pgrelay.fleet AS f WHERE f.paused_until > statement_timestamp())
ORDER BY q.run_at, q.id
LIMIT $1
