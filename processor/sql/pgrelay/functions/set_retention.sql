-- Purpose: how long finished events and log rows are kept; NULL leaves as it is.
-- Parameters: p_finished, p_log  not negative
-- Raises: 23514 for a negative interval
-- Writes: pgrelay.fleet
CREATE FUNCTION pgrelay.set_retention(p_finished interval DEFAULT NULL, p_log interval DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE pgrelay.fleet AS f
    SET keep_finished = coalesce(p_finished, f.keep_finished), keep_log = coalesce(p_log, f.keep_log);
    PERFORM pg_notify('pgrelay_control', '');
END
$$;
COMMENT ON FUNCTION pgrelay.set_retention(interval, interval) IS 'Sets how long finished events and log rows are kept. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay.set_retention(interval, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.set_retention(interval, interval) TO pgrelay_admin;
