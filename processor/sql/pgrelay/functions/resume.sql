-- Purpose: end a pause.
-- Writes: pgrelay.fleet
CREATE FUNCTION pgrelay.resume()
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE pgrelay.fleet AS f SET paused_until = NULL;
    PERFORM pg_notify('pgrelay_control', '');
END
$$;
COMMENT ON FUNCTION pgrelay.resume() IS 'Ends a pause. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay.resume() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.resume() TO pgrelay_admin;
