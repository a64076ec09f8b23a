-- Purpose: claim nothing for a while. It survives restarts and ends by itself. What is claimed already is finished.
-- Parameters: p_duration  positive
-- Raises: PR003 bad argument
-- Writes: pgrelay.fleet
CREATE FUNCTION pgrelay.pause_for(p_duration interval)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_duration IS NULL OR p_duration <= interval '0' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'pause_for needs a positive interval',
            DETAIL = format('p_duration = %L', p_duration), HINT = 'End a pause with SELECT pgrelay.resume().';
    END IF;
    UPDATE pgrelay.fleet AS f SET paused_until = clock_timestamp() + p_duration;
    PERFORM pg_notify('pgrelay_control', '');
END
$$;
COMMENT ON FUNCTION pgrelay.pause_for(interval) IS 'Pauses all claims for a while. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay.pause_for(interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.pause_for(interval) TO pgrelay_admin;
