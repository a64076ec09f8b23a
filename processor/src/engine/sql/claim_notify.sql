-- Reads notify event $1, whose claim lock (and lane lock, if it has a lane) the transaction holds, if it is still pending, due
-- and the head of its lane. The locks were taken by a statement before, so this one sees what their last holders committed.
WITH claimed AS MATERIALIZED (
    SELECT
        q.id, q.run_at, q.expire_at, q.retry_count, q.deduplicate, q.twin_key, q.lane, q.channel, q.node, q.payload
    FROM pgrelay.queue AS q
    WHERE q.id = $1
      AND q.action_type = 'notify'
      AND q.status = 'pending'
      AND q.run_at <= statement_timestamp()
      AND (
          q.lane IS NULL
          OR q.id = (
              SELECT h.id
              FROM pgrelay.queue AS h
              WHERE h.status = 'pending'
                AND h.action_type = 'notify'
                AND h.lane IS NOT NULL
                AND h.lane = q.lane
                AND h.run_at <= statement_timestamp()
              ORDER BY h.lane, h.run_at, h.id
              LIMIT 1
          )
      )
      AND NOT EXISTS (SELECT FROM pgrelay.fleet AS f WHERE f.paused_until > statement_timestamp())
)
SELECT
    c.id,
    c.run_at,
    c.channel,
    c.retry_count,
    c.deduplicate,
    c.twin_key,
    -- A large payload is fetched by the attempt itself, so that a batch never holds many of them.
    CASE WHEN octet_length(c.payload) <= 65536 THEN c.payload END AS payload,
    coalesce(octet_length(c.payload) > 65536, false) AS payload_is_large,
    coalesce(c.expire_at <= clock_timestamp(), false) AS expired,
    coalesce(c.expire_at = '-infinity', false) AS killed,
    (SELECT count(*) FROM pgrelay.crashes AS x WHERE x.queue_id = c.id AND x.counted) AS crashes,
    clock_timestamp() AS claimed_at,
    ch.channel IS NOT NULL AS registered,
    coalesce(ch.enabled, false) AS enabled,
    ch.action_sql,
    coalesce(ch.max_retries, 0) AS max_retries,
    coalesce((extract(epoch FROM ch.action_timeout) * 1000)::bigint, 300000) AS timeout_ms,
    coalesce(ch.batch, false) AS batch,
    ch.channel IS NULL OR c.lane IS NOT DISTINCT FROM pgrelay._lane(ch.concurrency_mode, c.channel, c.node, c.twin_key) AS in_lane
FROM claimed AS c
LEFT JOIN pgrelay.channels AS ch ON ch.channel = c.channel AND ch.action_type = 'notify'
ORDER BY c.run_at, c.id
