-- Moves the next batch of a sweep, at most $2 rows, and returns those it has moved, each with the number of rows it has locked and the
-- last id among them; without any, one row with these two alone. A row that somebody else holds is passed over.
-- What is in braces is put in by the program: the types of the columns; the states, as literals, which let the partial index be used;
-- and, in the statement for all batches but the first, the condition that the id is greater than $3. The second look at the
-- condition is for a table whose ids are not unique.
WITH stuck AS (
    SELECT i.id, i.status
    FROM pepsi.ingress AS i
    WHERE i.status IN ({states})
      AND i.stage IS DISTINCT FROM $1::text::{stage}
      {after}
    ORDER BY i.id
    LIMIT $2::bigint
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
SELECT m.id::text, m.status::text, t.locked, t.last
FROM (
    SELECT (SELECT count(*) FROM stuck AS s) AS locked,
           (SELECT s.id::text FROM stuck AS s ORDER BY s.id DESC LIMIT 1) AS last
) AS t
-- Not by the id: an estimate of one row would make that a loop within a loop.
LEFT JOIN moved AS m ON true
