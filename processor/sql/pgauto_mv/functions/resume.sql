-- Purpose: end a suspension: failures are counted from nothing again, and what is pending is tried at once.
-- Parameters: p_mv
-- Raises: PM001 not registered, 55P03 a refresh holds the view for over five seconds
-- Writes: mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv.resume(p_mv regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
DECLARE
    v_id uuid := pgauto_mv._mv_for_call(p_mv);
BEGIN
    UPDATE pgauto_mv.mv_state AS s SET suspended_at = NULL, consecutive_failures = 0, retry_at = NULL WHERE s.auto_mv_id = v_id;
    PERFORM pgauto_mv._send(v_id);
END
$$;
COMMENT ON FUNCTION pgauto_mv.resume(regclass) IS 'Ends the suspension of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.resume(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.resume(regclass) TO pgauto_mv_admin;
