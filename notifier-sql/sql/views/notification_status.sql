-- Purpose: every notification and what became of it, without its content. A monitor sees all, anybody else what his login has sent.
--          last_error names the recipients that a server refused: who may see the notification may know that.
-- Reads: pgrelay_notifier.notifications
CREATE VIEW pgrelay_notifier.notification_status WITH (security_barrier) AS
SELECT
    n.id,
    n.status,
    n.attempts,
    CASE WHEN n.status <> 'sent' THEN n.last_detail END AS last_error,
    n.provider_ref,
    n.elapsed_ms,
    n.profile,
    n.transport,
    n.channel,
    n.event_id,
    n.last_detail,
    n.debug,
    n.resend_of,
    n.created_by,
    n.created_at,
    n.updated_at,
    n.finished_at,
    n.cancelled_at
FROM pgrelay_notifier.notifications AS n
WHERE n.created_by = session_user OR pg_catalog.pg_has_role('pgrelay_notifier_monitor', 'MEMBER');
COMMENT ON VIEW pgrelay_notifier.notification_status IS 'Notifications without their content; for monitors all, for others their own.';
REVOKE ALL ON TABLE pgrelay_notifier.notification_status FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay_notifier.notification_status TO pgrelay_notifier_monitor, pgrelay_notifier_sender;
