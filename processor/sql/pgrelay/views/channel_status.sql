-- Purpose: every channel with its backlog. Bounded: at most the 100,000 earliest pending events of each pool family are counted,
--          through the partial indexes, so finished rows cost nothing.
-- Reads: pgrelay.channels, pgrelay.queue
CREATE VIEW pgrelay.channel_status AS
WITH pending AS (
    (SELECT q.channel, q.run_at FROM pgrelay.queue AS q
     WHERE q.status = 'pending' AND q.action_type = 'sql' AND q.lane IS NULL
     ORDER BY q.run_at, q.id LIMIT 100000)
    UNION ALL
    (SELECT q.channel, q.run_at FROM pgrelay.queue AS q
     WHERE q.status = 'pending' AND q.action_type = 'notify' AND q.lane IS NULL
     ORDER BY q.run_at, q.id LIMIT 100000)
    UNION ALL
    (SELECT q.channel, q.run_at FROM pgrelay.queue AS q
     WHERE q.status = 'pending' AND q.action_type = 'sql' AND q.lane IS NOT NULL
     ORDER BY q.run_at, q.id LIMIT 100000)
    UNION ALL
    (SELECT q.channel, q.run_at FROM pgrelay.queue AS q
     WHERE q.status = 'pending' AND q.action_type = 'notify' AND q.lane IS NOT NULL
     ORDER BY q.run_at, q.id LIMIT 100000)
), counted AS (
    SELECT
        p.channel,
        count(*) FILTER (WHERE p.run_at <= now()) AS pending_due,
        count(*) FILTER (WHERE p.run_at > now()) AS pending_future,
        min(p.run_at) AS oldest_run_at
    FROM pending AS p
    GROUP BY p.channel
)
SELECT
    coalesce(c.channel, n.channel) AS channel,
    c.channel IS NOT NULL AS registered,
    c.enabled,
    c.action_type,
    c.concurrency_mode,
    c.max_retries,
    c.node_restricted,
    coalesce(n.pending_due, 0) AS pending_due,
    coalesce(n.pending_future, 0) AS pending_future,
    CASE WHEN n.oldest_run_at <= now() AND isfinite(n.oldest_run_at) THEN now() - n.oldest_run_at END AS oldest_due_age
FROM pgrelay.channels AS c
FULL JOIN counted AS n ON n.channel = c.channel;
COMMENT ON VIEW pgrelay.channel_status IS 'Channels and their pending events (the earliest 100,000 of each pool family are counted).';
REVOKE ALL ON TABLE pgrelay.channel_status FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay.channel_status TO pgrelay_admin, pgrelay_monitor, pgrelay_processor;
