-- Purpose: call a webhook in the caller's transaction.
-- Parameters: p_profile  of transport webhook
--             p_body     any JSON but null; a string is sent as it is, anything else as JSON
--             p_headers  {"name": "value"}, beside those of the profile
--             then as send()
-- Returns: id of the notification
-- Raises: as send()
-- Reads: pgrelay_notifier.profiles, pgrelay.channels   Writes: pgrelay_notifier.notifications, pgrelay.queue
CREATE FUNCTION pgrelay_notifier.send_webhook(
    p_profile   text,
    p_body      jsonb,
    p_headers   jsonb       DEFAULT NULL,
    p_channel   text        DEFAULT NULL,
    p_run_at    timestamptz DEFAULT NULL,
    p_expire_at timestamptz DEFAULT NULL,
    p_debug     boolean     DEFAULT false
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_message jsonb := '{}';
BEGIN
    -- Key by key: jsonb_strip_nulls() would reach into the body.
    IF p_body IS NOT NULL THEN
        v_message := jsonb_build_object('body', p_body);
    END IF;
    IF p_headers IS NOT NULL THEN
        v_message := v_message || jsonb_build_object('headers', p_headers);
    END IF;
    PERFORM pgrelay_notifier._check_transport(p_profile, ARRAY['webhook']);
    RETURN pgrelay_notifier._send(p_profile, v_message, p_channel, p_run_at, p_expire_at, p_debug);
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.send_webhook(text, jsonb, jsonb, text, timestamptz, timestamptz, boolean)
    IS 'Calls a webhook in the calling transaction and returns the notification''s id. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.send_webhook(text, jsonb, jsonb, text, timestamptz, timestamptz, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.send_webhook(text, jsonb, jsonb, text, timestamptz, timestamptz, boolean) TO pgrelay_notifier_sender;
