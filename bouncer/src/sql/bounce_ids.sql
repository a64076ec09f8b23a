-- Moves those of the messages $2 that are still stuck and that nobody holds; the same as bounce_next.sql otherwise.
WITH stuck AS (
    SELECT i.id, i.status
    FROM pepsi.ingress AS i
    WHERE i.status IN ({states})
      AND i.stage IS DISTINCT FROM $1::text::{stage}
      AND i.id = ANY ($2::text[]::{id}[])
    FOR UPDATE SKIP LOCKED
), moved AS (
    UPDATE pepsi.ingress AS i
    SET stage = $1::text::{stage}, status = 'pending'
    FROM stuck AS s
    WHERE i.id = s.id
      AND i.status IN ({states})
      AND i.stage IS DISTINCT FROM $1::text::{stage}
    RETURNING s.id, s.status
)
SELECT m.id::text, m.status::text, t.locked
FROM (SELECT (SELECT count(*) FROM stuck AS s) AS locked) AS t
LEFT JOIN moved AS m ON true
