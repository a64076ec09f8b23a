-- Purpose: ask Processors that are running now to drain and exit with code 0 (their units stay down). One started later is not affected.
-- Parameters: p_processor  one of processors.id; NULL: all
-- Raises: PR003 no such Processor
-- Writes: pgrelay.fleet or pgrelay.processors
CREATE FUNCTION pgrelay.stop(p_processor uuid DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_processor IS NULL THEN
        UPDATE pgrelay.fleet AS f SET stop_started_before = clock_timestamp();
    ELSE
        UPDATE pgrelay.processors AS p SET stop_requested_at = clock_timestamp() WHERE p.id = p_processor;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('no Processor %s is registered', p_processor),
                HINT = 'Running Processors are listed in pgrelay.processor_status.';
        END IF;
    END IF;
    PERFORM pg_notify('pgrelay_control', '');
END
$$;
COMMENT ON FUNCTION pgrelay.stop(uuid) IS 'Asks running Processors to drain and exit with 0. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay.stop(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.stop(uuid) TO pgrelay_admin;
