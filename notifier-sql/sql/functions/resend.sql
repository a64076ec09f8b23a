-- Purpose: send a message again, as a notification of its own with a message_id or webhook_id of its own, whatever became of the first.
-- Parameters: p_id  one of the session's login, or any for members of pgrelay_notifier_admin
-- Returns: id of the new notification
-- Raises: PN007 unknown notification; as send(), since the profile may have changed
-- Reads: pgrelay_notifier.profiles, pgrelay.channels   Writes: pgrelay_notifier.notifications, pgrelay.queue
CREATE FUNCTION pgrelay_notifier.resend(p_id bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_old pgrelay_notifier.notifications := pgrelay_notifier._own(p_id);
BEGIN
    RETURN pgrelay_notifier._send(
        v_old.profile,
        v_old.message - ARRAY['message_id', 'webhook_id'],
        v_old.channel,
        NULL,
        NULL,
        v_old.debug,
        v_old.id
    );
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.resend(bigint) IS 'Sends a message again as a new notification, whose id it returns. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.resend(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.resend(bigint) TO pgrelay_notifier_sender;
