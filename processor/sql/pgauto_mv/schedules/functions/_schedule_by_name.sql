-- Purpose: a schedule, or a clear error.
-- Parameters: p_name
-- Returns: the row
-- Raises: PM001 no such schedule
-- Reads: pgauto_mv.schedules
CREATE FUNCTION pgauto_mv._schedule_by_name(p_name text)
RETURNS pgauto_mv.schedules
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
DECLARE
    v_schedule pgauto_mv.schedules;
BEGIN
    SELECT s.* INTO v_schedule FROM pgauto_mv.schedules AS s WHERE s.name = p_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PM001',
            MESSAGE = format('there is no schedule %L', p_name),
            DETAIL = 'Schedules are listed in pgauto_mv.schedules.',
            HINT = 'Create it first: SELECT pgauto_mv.create_schedule(name, cron).';
    END IF;
    RETURN v_schedule;
END
$$;
COMMENT ON FUNCTION pgauto_mv._schedule_by_name(text) IS 'A schedule by its name. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._schedule_by_name(text) FROM PUBLIC;
