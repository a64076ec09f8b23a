-- Purpose: the limit of a profile on the content of a message.
-- Parameters: p_transport, p_profile
-- Returns: bytes. Graph takes about 4 MB a request, of which base64 makes 3; a mail server usually takes 25 MiB or more
CREATE FUNCTION pgrelay_notifier._max_message_bytes(p_transport text, p_profile jsonb)
RETURNS bigint
LANGUAGE sql IMMUTABLE SECURITY INVOKER
AS $$
    SELECT coalesce(
        (p_profile -> 'max_message_bytes')::bigint,
        CASE p_transport WHEN 'smtp' THEN 26214400 WHEN 'm365' THEN 3145728 ELSE 262144 END
    )
$$;
COMMENT ON FUNCTION pgrelay_notifier._max_message_bytes(text, jsonb) IS 'Limit of a profile on the content of a message, in bytes. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._max_message_bytes(text, jsonb) FROM PUBLIC;
