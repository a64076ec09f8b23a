-- Purpose: remove a channel. Its pending events resolve as invalid when they are due.
-- Parameters: p_channel
-- Raises: PR001 channel not registered
-- Writes: pgrelay.channels
CREATE FUNCTION pgrelay.unregister(p_channel text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM pgrelay.channels AS c WHERE c.channel = p_channel;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('channel %L is not registered', p_channel);
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay.unregister(text) IS 'Removes a channel; its pending events resolve as invalid. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay.unregister(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.unregister(text) TO pgrelay_admin;
