-- Moves the next batch of a sweep, at most $2 rows, and returns every row it has locked. A row that somebody else holds is passed over.
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
    RETURNING i.id
)
SELECT s.id::text, s.status::text, m.id IS NOT NULL
FROM stuck AS s
LEFT JOIN moved AS m ON m.id = s.id
ORDER BY s.id
