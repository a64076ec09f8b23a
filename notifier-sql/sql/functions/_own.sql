-- Purpose: a notification that the session may act on: its login's own, or any for an administrator.
-- Parameters: p_id
-- Raises: PN007 unknown notification; the same for one of somebody else's, so that ids tell nothing
-- Reads: pgrelay_notifier.notifications
CREATE FUNCTION pgrelay_notifier._own(p_id bigint)
RETURNS pgrelay_notifier.notifications
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
DECLARE
    v_notification pgrelay_notifier.notifications;
BEGIN
    -- session_user: within the sending functions the current user is their owner.
    SELECT n.* INTO v_notification
    FROM pgrelay_notifier.notifications AS n
    WHERE n.id = p_id
      AND (n.created_by = session_user OR pg_has_role(session_user, 'pgrelay_notifier_admin', 'MEMBER'));
    IF NOT FOUND THEN
        PERFORM pgrelay_notifier._refuse('unknown notification', format('login %I has no notification %s', session_user, coalesce(p_id::text, 'NULL')),
            format('p_id = %s', coalesce(p_id::text, 'NULL')),
            'Own notifications are listed in pgrelay_notifier.notification_status; members of pgrelay_notifier_admin may name any.');
    END IF;
    RETURN v_notification;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._own(bigint) IS 'A notification that the session may act on. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._own(bigint) FROM PUBLIC;
