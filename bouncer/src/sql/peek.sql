-- The ids of the batch that bounce_next.sql would move; nothing is locked.
SELECT i.id::text
FROM pepsi.ingress AS i
WHERE i.status IN ({states})
  AND i.stage IS DISTINCT FROM $1::text::{stage}
  {after}
ORDER BY i.id
LIMIT $2::bigint
