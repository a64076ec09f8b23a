-- Candidates of the notify pool, up to $1 of each family, oldest first from the floor ($2, $3). Nothing is locked: the claim is an
-- advisory lock. Of lane channels only the first due event of each lane among the first 100 is a candidate.
-- $4 this node; $5, $6 channel restrictions.
(
    SELECT q.id, q.lane
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
)
UNION ALL
(
    SELECT DISTINCT ON (d.lane) d.id, d.lane
    FROM (
        SELECT q.id, q.lane, q.run_at
        FROM pgrelay.queue AS q
        WHERE q.status = 'pending'
          AND q.action_type = 'notify'
          AND q.lane IS NOT NULL
          AND q.run_at <= statement_timestamp()
          AND (q.node IS NULL OR q.node = $4)
          AND ($5::text IS NULL OR q.channel ~ $5)
          AND ($6::text IS NULL OR q.channel !~ $6)
          AND NOT EXISTS (SELECT FROM pgrelay.fleet AS f WHERE f.paused_until > statement_timestamp())
        ORDER BY q.run_at, q.id
        LIMIT 100
    ) AS d
    ORDER BY d.lane, d.run_at, d.id
)
