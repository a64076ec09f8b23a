-- Purpose: have every Processor read registry and companions again and repeat its preflight, within about a second.
-- Writes: pgrelay.fleet
CREATE FUNCTION pgrelay.request_reload()
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE pgrelay.fleet AS f SET reload_generation = f.reload_generation + 1;
    PERFORM pg_notify('pgrelay_control', '');
END
$$;
COMMENT ON FUNCTION pgrelay.request_reload() IS 'Has every Processor reload within about a second. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay.request_reload() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.request_reload() TO pgrelay_admin, pgrelay_processor;
