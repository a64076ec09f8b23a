-- Lanes after $1 with a due head, by jumping from lane to lane: one index probe each, however long their backlogs are.
-- Asked when the first due events all belong to busy lanes. At most 256 lanes are visited. $2 this node.
-- The last row always comes back (due or not), so that the caller knows where to go on.
WITH RECURSIVE lanes AS (
    (
        SELECT q.lane, q.run_at, q.node, 1 AS place
        FROM pgrelay.queue AS q
        WHERE q.status = 'pending' AND q.action_type = '{action_type}' AND q.lane IS NOT NULL AND q.lane > $1
        ORDER BY q.lane, q.run_at, q.id
        LIMIT 1
    )
    UNION ALL
    SELECT n.lane, n.run_at, n.node, l.place + 1
    FROM lanes AS l
    CROSS JOIN LATERAL (
        SELECT q.lane, q.run_at, q.node
        FROM pgrelay.queue AS q
        WHERE q.status = 'pending' AND q.action_type = '{action_type}' AND q.lane IS NOT NULL AND q.lane > l.lane
        ORDER BY q.lane, q.run_at, q.id
        LIMIT 1
    ) AS n
    WHERE l.place < 256
)
SELECT l.lane, l.run_at <= statement_timestamp() AND (l.node IS NULL OR l.node = $2) AS due
FROM lanes AS l
ORDER BY l.place
