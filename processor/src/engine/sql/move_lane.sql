-- Moves events $1, claimed under an old concurrency mode, to the lane their channel has now.
UPDATE pgrelay.queue AS q
SET lane = pgrelay._lane(c.concurrency_mode, q.channel, q.node, q.twin_key)
FROM pgrelay.channels AS c
WHERE q.id = ANY ($1::bigint[]) AND c.channel = q.channel
