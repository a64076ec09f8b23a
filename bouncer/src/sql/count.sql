-- How many messages are stuck in each state, and how many of those are at the bounce stage already.
SELECT i.status::text,
       count(*) FILTER (WHERE i.stage IS DISTINCT FROM $1::text::{stage}),
       count(*) FILTER (WHERE i.stage IS NOT DISTINCT FROM $1::text::{stage})
FROM pepsi.ingress AS i
WHERE i.status IN ({states})
GROUP BY i.status
