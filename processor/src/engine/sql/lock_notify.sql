-- Locks notify event $1 for its settlement. Waits for a deduplicated call or a kill() that looks at it, within lock_timeout.
SELECT q.id
FROM pgrelay.queue AS q
WHERE q.id = $1 AND q.status = 'pending'
FOR UPDATE
