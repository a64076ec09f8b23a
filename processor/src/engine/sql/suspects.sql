-- Due events marked by a crash: they are kept out of batches and claimed one by one. $1 this node; $2, $3 channel restrictions.
SELECT q.id
FROM pgrelay.queue AS q
WHERE q.id = ANY (ARRAY(SELECT x.queue_id FROM pgrelay.crashes AS x ORDER BY x.crashed_at DESC LIMIT 1000))
  AND q.status = 'pending'
  AND q.action_type = 'sql'
  AND q.lane IS NULL
  AND q.run_at <= statement_timestamp()
  AND (q.node IS NULL OR q.node = $1)
  AND ($2::text IS NULL OR q.channel ~ $2)
  AND ($3::text IS NULL OR q.channel !~ $3)
ORDER BY q.run_at, q.id
LIMIT 50
