-- Purpose: the steps of notifications sent with p_debug, while they happen.
-- Reads: pgrelay_notifier.debug_steps, pgrelay_notifier.notifications
CREATE VIEW pgrelay_notifier.debug_trace WITH (security_barrier) AS
SELECT
    d.notification_id,
    d.logged_at,
    d.step,
    d.detail,
    d.id
FROM pgrelay_notifier.debug_steps AS d
JOIN pgrelay_notifier.notifications AS n ON n.id = d.notification_id
WHERE n.created_by = session_user OR pg_catalog.pg_has_role('pgrelay_notifier_monitor', 'MEMBER');
COMMENT ON VIEW pgrelay_notifier.debug_trace IS 'Steps of notifications sent with p_debug; for monitors all, for others their own.';
REVOKE ALL ON TABLE pgrelay_notifier.debug_trace FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay_notifier.debug_trace TO pgrelay_notifier_monitor, pgrelay_notifier_sender;
