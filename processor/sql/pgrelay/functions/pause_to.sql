-- Purpose: claim nothing before a time. It survives restarts and ends by itself. What is claimed already is finished.
-- Parameters: p_until  infinity: until resume()
-- Raises: PR003 bad argument
-- Writes: pgrelay.fleet
CREATE FUNCTION pgrelay.pause_to(p_until timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_until IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'pause_to needs a time',
            DETAIL = 'p_until = NULL', HINT = 'Use ''infinity'' to pause until SELECT pgrelay.resume().';
    END IF;
    UPDATE pgrelay.fleet AS f SET paused_until = p_until;
    PERFORM pg_notify('pgrelay_control', '');
END
$$;
COMMENT ON FUNCTION pgrelay.pause_to(timestamptz) IS 'Pauses all claims until a time. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay.pause_to(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.pause_to(timestamptz) TO pgrelay_admin;
