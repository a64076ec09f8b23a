-- Purpose: what register() and update() refuse, in one place.
-- Parameters: the channel as it would become
-- Raises: PR003 bad argument
CREATE FUNCTION pgrelay._check_channel(p_channel pgrelay.channels)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_problem text;
    v_detail  text;
BEGIN
    IF p_channel.channel IS NULL OR char_length(p_channel.channel) NOT BETWEEN 1 AND 200 OR p_channel.channel ~ '[[:cntrl:]]' THEN
        v_problem := 'channel name must be 1 to 200 characters without control characters';
        v_detail := format('channel = %L', left(p_channel.channel, 220));
    ELSIF p_channel.action_type IS NULL OR p_channel.action_type NOT IN ('sql', 'notify') THEN
        v_problem := 'action_type must be sql or notify';
        v_detail := format('action_type = %L', p_channel.action_type);
    ELSIF p_channel.action_type = 'sql' AND coalesce(btrim(p_channel.action_sql, E' \t\r\n'), '') = '' THEN
        v_problem := 'a channel of action_type sql needs action_sql';
        v_detail := format('action_sql = %L', p_channel.action_sql);
    ELSIF p_channel.action_type = 'notify' AND p_channel.action_sql IS NOT NULL THEN
        v_problem := 'a channel of action_type notify takes no action_sql';
        v_detail := format('action_sql = %L', p_channel.action_sql);
    ELSIF p_channel.max_retries IS NULL OR p_channel.max_retries NOT BETWEEN 0 AND 1000 THEN
        v_problem := 'max_retries must be between 0 and 1000';
        v_detail := format('max_retries = %s', coalesce(p_channel.max_retries::text, 'NULL'));
    ELSIF p_channel.concurrency_mode IS NULL OR p_channel.concurrency_mode NOT IN ('parallel', 'serial', 'per_payload') THEN
        v_problem := 'concurrency_mode must be parallel, serial or per_payload';
        v_detail := format('concurrency_mode = %L', p_channel.concurrency_mode);
    ELSIF p_channel.node_restricted IS NULL THEN
        v_problem := 'node_restricted must be true or false';
        v_detail := 'node_restricted = NULL';
    ELSIF p_channel.action_timeout <= interval '0' OR p_channel.action_timeout > interval '24 hours' THEN
        v_problem := 'action_timeout must be more than 0 and at most 24 hours';
        v_detail := format('action_timeout = %s', p_channel.action_timeout);
    ELSE
        RETURN;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = v_problem, DETAIL = v_detail;
END
$$;
COMMENT ON FUNCTION pgrelay._check_channel(pgrelay.channels) IS 'Refuses a malformed channel. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._check_channel(pgrelay.channels) FROM PUBLIC;
