-- Purpose: refresh a view by its changes alone. Its queued slot is taken back; one that is being served ends as it would have.
-- Parameters: p_mv
-- Raises: PM001 not registered
-- Writes: pgauto_mv.materialised_views, pgauto_mv.mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv.unassign_schedule(p_mv regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_auto_mv_id uuid := pgauto_mv._mv_for_call(p_mv);
BEGIN
    UPDATE pgauto_mv.materialised_views AS v
    SET schedule_id = NULL, updated_at = clock_timestamp()
    WHERE v.auto_mv_id = v_auto_mv_id;
    PERFORM pgauto_mv._start_schedule(v_auto_mv_id);
END
$$;
COMMENT ON FUNCTION pgauto_mv.unassign_schedule(regclass) IS 'Takes a view off its schedule. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.unassign_schedule(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.unassign_schedule(regclass) TO pgauto_mv_admin;
