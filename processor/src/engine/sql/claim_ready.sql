-- Claims up to $1 due events of parallel sql channels, oldest first, starting at the floor ($2, $3).
-- $4 this node; $5, $6 regular expressions of served and excluded channels, NULL for no restriction.
-- $7 channels left out, $8 channels taken alone: the two streams of pace.rs, NULL for no restriction.
-- Every test of eligibility is inside the limited, ordered select, so that only eligible rows are locked and counted.
WITH claimed AS MATERIALIZED (
    SELECT
        q.id, q.run_at, q.expire_at, q.retry_count, q.deduplicate, q.twin_key, q.lane, q.action_type, q.channel, q.node, q.payload
    FROM pgrelay.queue AS q
    WHERE q.status = 'pending'
      AND q.action_type = 'sql'
      AND q.lane IS NULL
      AND (q.run_at, q.id) >= ($2, $3)
      AND q.run_at <= statement_timestamp()
      AND (q.node IS NULL OR q.node = $4)
      AND ($5::text IS NULL OR q.channel ~ $5)
      AND ($6::text IS NULL OR q.channel !~ $6)
      AND ($7::text[] IS NULL OR q.channel <> ALL ($7))
      AND ($8::text[] IS NULL OR q.channel = ANY ($8))
      -- A count, not NOT EXISTS: an anti-join would give the planner a reason to leave the index order.
      AND (SELECT count(*) FROM pgrelay.crashes AS x WHERE x.queue_id = q.id) = 0
      AND NOT EXISTS (SELECT FROM pgrelay.fleet AS f WHERE f.paused_until > statement_timestamp())
    ORDER BY q.run_at, q.id
    LIMIT $1
    FOR UPDATE OF q SKIP LOCKED
)
