-- Purpose: what an alert asks: which profiles fail, since when, and what waits. Without the settings of the profiles.
-- Reads: pgrelay_notifier.profiles, pgrelay_notifier.notifications (what waits, and what ended in the last 24 hours)
CREATE VIEW pgrelay_notifier.profile_status AS
WITH waiting AS (
    SELECT
        n.profile,
        count(*) FILTER (WHERE n.status = 'queued') AS queued,
        count(*) FILTER (WHERE n.status = 'retry') AS retry,
        min(n.created_at) AS oldest
    FROM pgrelay_notifier.notifications AS n
    WHERE n.finished_at IS NULL
    GROUP BY n.profile
), ended AS (
    SELECT
        n.profile,
        count(*) FILTER (WHERE n.status = 'sent') AS sent,
        count(*) FILTER (WHERE n.status = 'failed') AS failed,
        count(*) FILTER (WHERE n.status = 'expired') AS expired,
        count(*) FILTER (WHERE n.status = 'invalid') AS invalid,
        max(n.finished_at) FILTER (WHERE n.status = 'sent') AS last_sent_at
    FROM pgrelay_notifier.notifications AS n
    WHERE n.finished_at > pg_catalog.now() - interval '24 hours'
    GROUP BY n.profile
)
SELECT
    p.name AS profile,
    p.transport,
    p.channel,
    coalesce(w.queued, 0) AS queued,
    coalesce(w.retry, 0) AS retry,
    pg_catalog.now() - w.oldest AS oldest_waiting,
    coalesce(e.sent, 0) AS sent_24h,
    coalesce(e.failed, 0) AS failed_24h,
    coalesce(e.expired, 0) AS expired_24h,
    coalesce(e.invalid, 0) AS invalid_24h,
    e.last_sent_at,
    f.finished_at AS last_failure_at,
    f.id AS last_failure_id,
    f.last_detail AS last_failure
FROM pgrelay_notifier.profiles AS p
LEFT JOIN waiting AS w ON w.profile = p.name
LEFT JOIN ended AS e ON e.profile = p.name
LEFT JOIN LATERAL (
    SELECT n.finished_at, n.id, n.last_detail
    FROM pgrelay_notifier.notifications AS n
    WHERE n.profile = p.name AND n.status = 'failed'
    ORDER BY n.finished_at DESC
    LIMIT 1
) AS f ON true;
COMMENT ON VIEW pgrelay_notifier.profile_status IS 'Profiles with what waits, what ended in the last 24 hours, and their last failure.';
REVOKE ALL ON TABLE pgrelay_notifier.profile_status FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay_notifier.profile_status TO pgrelay_notifier_monitor;
