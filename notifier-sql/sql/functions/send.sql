-- Purpose: send a notification in the caller's transaction: rolled back means never sent.
-- Parameters: p_profile    a profile
--             p_message    the message, with the keys of the profile's transport
--             p_channel    a registered channel of action_type notify; NULL: the profile's
--             p_run_at     not before this time; NULL: now
--             p_expire_at  not at or after this time; NULL: never
--             p_debug      have every step of its attempts reported to debug_steps
-- Returns: id of the notification
-- Raises: PN001 unknown profile, PN004 malformed message, PN005 message too large, PN008 unusable channel
-- Reads: pgrelay_notifier.profiles, pgrelay.channels   Writes: pgrelay_notifier.notifications, pgrelay.queue
CREATE FUNCTION pgrelay_notifier.send(
    p_profile   text,
    p_message   jsonb,
    p_channel   text        DEFAULT NULL,
    p_run_at    timestamptz DEFAULT NULL,
    p_expire_at timestamptz DEFAULT NULL,
    p_debug     boolean     DEFAULT false
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN pgrelay_notifier._send(p_profile, p_message, p_channel, p_run_at, p_expire_at, p_debug);
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.send(text, jsonb, text, timestamptz, timestamptz, boolean)
    IS 'Sends a notification in the calling transaction and returns its id. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.send(text, jsonb, text, timestamptz, timestamptz, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.send(text, jsonb, text, timestamptz, timestamptz, boolean) TO pgrelay_notifier_sender;
