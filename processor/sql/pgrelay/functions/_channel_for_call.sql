-- Purpose: channel validation of notify() and notify_many(): the registered channel, or a clear error.
-- Parameters: p_channel; p_payload_bytes  size of the largest payload
-- Returns: the row of pgrelay.channels
-- Raises: PR001 channel not registered, PR004 payload too large
CREATE FUNCTION pgrelay._channel_for_call(p_channel text, p_payload_bytes integer)
RETURNS pgrelay.channels
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
DECLARE
    v_channel pgrelay.channels;
BEGIN
    SELECT c.* INTO v_channel FROM pgrelay.channels AS c WHERE c.channel = p_channel;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001',
            MESSAGE = format('channel %L is not registered', p_channel),
            HINT = 'Register it first: SELECT pgrelay.register(channel, action_sql).';
    END IF;
    IF p_payload_bytes > 16777216 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004',
            MESSAGE = format('payload of %s bytes exceeds the limit of 16777216 bytes (16 MiB)', p_payload_bytes),
            DETAIL = format('channel = %L', p_channel),
            HINT = 'Store the data in a table of your own and send its key.';
    END IF;
    RETURN v_channel;
END
$$;
COMMENT ON FUNCTION pgrelay._channel_for_call(text, integer) IS 'Validates the channel and the payload size of a call. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._channel_for_call(text, integer) FROM PUBLIC;
