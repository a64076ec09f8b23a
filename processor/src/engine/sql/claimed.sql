-- What a claim returns of the rows it took ("claimed"), with their channels as they are now. The end of every claim.
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
    greatest(1, coalesce((extract(epoch FROM ch.action_timeout) * 1000)::bigint, 300000)) AS timeout_ms,
    coalesce(ch.batch, false) AS batch,
    ch.channel IS NULL OR c.lane IS NOT DISTINCT FROM pgrelay._lane(ch.concurrency_mode, c.channel, c.node, c.twin_key) AS in_lane
FROM claimed AS c
LEFT JOIN pgrelay.channels AS ch ON ch.channel = c.channel AND ch.action_type = c.action_type
ORDER BY c.run_at, c.id
