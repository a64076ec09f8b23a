-- Purpose: refuse a channel that carries no notifications.
-- Parameters: p_channel
-- Raises: PN008 unusable channel
-- Reads: pgrelay.channels
CREATE FUNCTION pgrelay_notifier._check_channel(p_channel text)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
DECLARE
    v_action_type text;
BEGIN
    SELECT c.action_type INTO v_action_type FROM pgrelay.channels AS c WHERE c.channel = p_channel;
    IF NOT FOUND THEN
        PERFORM pgrelay_notifier._refuse('unusable channel', format('channel %L is not registered', p_channel), format('channel = %L', p_channel),
            'Register it first: SELECT pgrelay.register(channel, action_type => ''notify'', max_retries => 2).');
    ELSIF v_action_type <> 'notify' THEN
        PERFORM pgrelay_notifier._refuse('unusable channel', format('channel %L is not of action_type notify', p_channel),
            format('channel = %L, action_type = %L', p_channel, v_action_type), 'Name a channel that was registered with action_type => ''notify''.');
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_channel(text) IS 'Refuses a channel that carries no notifications. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_channel(text) FROM PUBLIC;
