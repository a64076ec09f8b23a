-- Purpose: the coming slots of a schedule, as its clock shows them.
-- Parameters: p_schedule  name
--             p_count     how many, 1 to 1000
--             p_after     later than this; NULL: now
-- Returns: each slot, its local time with the offset from UTC, and a note where the clock is changed; fewer rows, or none, when there are
--          no more or the schedule is disabled
-- Raises: PM001 no such schedule, PM003 bad argument
-- Reads: pgauto_mv.schedules
CREATE FUNCTION pgauto_mv.preview(p_schedule text, p_count integer DEFAULT 10, p_after timestamptz DEFAULT NULL)
RETURNS TABLE (slot timestamptz, local_time text, note text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- From PostgreSQL 18 on a name is first looked for among the abbreviations of the session's zone, where UTC can be anything.
SET TimeZone = 'UTC'
AS $$
DECLARE
    v_schedule pgauto_mv.schedules := pgauto_mv._schedule_by_name(p_schedule);
    v_offset   interval;
BEGIN
    IF p_count IS NULL OR p_count NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PM003', MESSAGE = 'preview shows 1 to 1000 slots',
            DETAIL = format('p_count = %s', coalesce(p_count::text, 'NULL')),
            HINT = 'For later slots give p_after, the last one seen.';
    END IF;
    slot := coalesce(p_after, clock_timestamp());
    FOR v_i IN 1 .. p_count LOOP
        slot := pgauto_mv._next_slot(v_schedule.schedule_id, slot);
        EXIT WHEN slot IS NULL;
        v_offset := pgauto_mv._utc_offset(v_schedule.timezone, slot);
        local_time := to_char(timezone(v_schedule.timezone, slot), 'Dy YYYY-MM-DD HH24:MI:SS')
            || CASE WHEN v_offset < interval '0' THEN ' -' ELSE ' +' END
            || to_char(greatest(v_offset, -v_offset), 'HH24:MI');
        note := pgauto_mv._slot_note(v_schedule.fields, v_schedule.timezone, slot);
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION pgauto_mv.preview(text, integer, timestamptz) IS 'Coming slots of a schedule. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.preview(text, integer, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.preview(text, integer, timestamptz) TO pgauto_mv_admin, pgauto_mv_monitor;
