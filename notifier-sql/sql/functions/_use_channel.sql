-- Purpose: the channel of a profile: as _check_channel(), but the default channel is registered where it is missing. The install script
--          does not do it: pg_restore runs that script before it brings back the rows of pgrelay.channels, which would then collide.
-- Parameters: p_channel
-- Raises: PN008 unusable channel
-- Reads: pgrelay.channels   Writes: pgrelay.channels
CREATE FUNCTION pgrelay_notifier._use_channel(p_channel text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    IF p_channel = 'pg_relay_notifier.send' AND NOT EXISTS (SELECT FROM pgrelay.channels AS c WHERE c.channel = p_channel) THEN
        BEGIN
            PERFORM pgrelay.register(p_channel, action_type => 'notify', max_retries => 2, description => 'Notifications of pg_relay_notifier.');
        EXCEPTION WHEN SQLSTATE 'PR002' THEN
            -- Another session registered it meanwhile.
            NULL;
        END;
    END IF;
    PERFORM pgrelay_notifier._check_channel(p_channel);
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._use_channel(text) IS 'Refuses an unusable channel; registers the default one. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._use_channel(text) FROM PUBLIC;
