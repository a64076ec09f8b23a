-- Purpose: remove a schedule that no view is assigned to.
-- Parameters: p_name
-- Raises: PM001 no such schedule, PM004 views are assigned to it
-- Writes: pgauto_mv.schedules
CREATE FUNCTION pgauto_mv.drop_schedule(p_name text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_schedule pgauto_mv.schedules := pgauto_mv._schedule_by_name(p_name);
    v_views    text;
BEGIN
    -- An assignment that has not committed holds the row's key.
    PERFORM FROM pgauto_mv.schedules AS s WHERE s.schedule_id = v_schedule.schedule_id FOR UPDATE;
    SELECT string_agg(format('%I.%I', v.mv_schema, v.mv_name), ', ' ORDER BY v.mv_schema, v.mv_name) INTO v_views
    FROM pgauto_mv.materialised_views AS v
    WHERE v.schedule_id = v_schedule.schedule_id;
    IF v_views IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PM004', MESSAGE = format('schedule %L is in use', p_name),
            DETAIL = format('Assigned to it: %s', v_views),
            HINT = 'Take them off first: SELECT pgauto_mv.unassign_schedule(view).';
    END IF;
    DELETE FROM pgauto_mv.schedules AS s WHERE s.schedule_id = v_schedule.schedule_id;
END
$$;
COMMENT ON FUNCTION pgauto_mv.drop_schedule(text) IS 'Removes a schedule without views. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.drop_schedule(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.drop_schedule(text) TO pgauto_mv_admin;
