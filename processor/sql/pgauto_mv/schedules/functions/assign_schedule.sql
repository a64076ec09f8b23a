-- Purpose: refresh a view by a schedule, in place of the one it had, and queue its first slot. Its changes refresh it as before.
-- Parameters: p_mv
--             p_schedule  name
-- Raises: PM001 not registered, or no such schedule
-- Writes: pgauto_mv.materialised_views, pgauto_mv.mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv.assign_schedule(p_mv regclass, p_schedule text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_auto_mv_id  uuid := pgauto_mv._mv_for_call(p_mv);
    v_schedule_id uuid := (pgauto_mv._schedule_by_name(p_schedule)).schedule_id;
BEGIN
    -- A change of the schedule goes before or comes after, so that the slot is one of the schedule's.
    PERFORM FROM pgauto_mv.schedules AS s WHERE s.schedule_id = v_schedule_id FOR SHARE;
    UPDATE pgauto_mv.materialised_views AS v
    SET schedule_id = v_schedule_id, updated_at = clock_timestamp()
    WHERE v.auto_mv_id = v_auto_mv_id;
    PERFORM pgauto_mv._start_schedule(v_auto_mv_id);
END
$$;
COMMENT ON FUNCTION pgauto_mv.assign_schedule(regclass, text) IS 'Assigns a view to a schedule. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.assign_schedule(regclass, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.assign_schedule(regclass, text) TO pgauto_mv_admin;
