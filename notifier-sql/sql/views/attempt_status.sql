-- Purpose: the attempts at the notifications that notification_status shows.
-- Reads: pgrelay_notifier.attempts, pgrelay_notifier.notifications
CREATE VIEW pgrelay_notifier.attempt_status WITH (security_barrier) AS
SELECT
    a.notification_id,
    a.attempt,
    a.status,
    a.detail,
    a.provider_ref,
    a.elapsed_ms,
    a.reported_at,
    a.id
FROM pgrelay_notifier.attempts AS a
JOIN pgrelay_notifier.notifications AS n ON n.id = a.notification_id
WHERE n.created_by = session_user OR pg_catalog.pg_has_role('pgrelay_notifier_monitor', 'MEMBER');
COMMENT ON VIEW pgrelay_notifier.attempt_status IS 'Attempts at notifications; for monitors all, for others their own.';
REVOKE ALL ON TABLE pgrelay_notifier.attempt_status FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay_notifier.attempt_status TO pgrelay_notifier_monitor, pgrelay_notifier_sender;
