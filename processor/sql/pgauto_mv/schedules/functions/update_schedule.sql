-- Purpose: change a schedule. NULL leaves a setting as it is. The views assigned to it get their next slot by the new rule; a slot that is
--          due already stays, and is served first.
-- Parameters: p_name, then the settings of create_schedule(), where an interval takes the place of a cron expression and the other way round;
--             p_enabled   false: no slots until it is enabled again
--             p_new_name
-- Raises: PM001 no such schedule, PM002 schedule exists, PM003 bad argument
-- Writes: pgauto_mv.schedules, pgauto_mv.mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv.update_schedule(
    p_name     text,
    p_cron     text        DEFAULT NULL,
    p_every    interval    DEFAULT NULL,
    p_timezone text        DEFAULT NULL,
    p_anchor   timestamptz DEFAULT NULL,
    p_enabled  boolean     DEFAULT NULL,
    p_new_name text        DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_schedule pgauto_mv.schedules := pgauto_mv._schedule_by_name(p_name);
BEGIN
    SELECT s.* INTO v_schedule FROM pgauto_mv.schedules AS s WHERE s.schedule_id = v_schedule.schedule_id FOR UPDATE;
    IF p_cron IS NOT NULL OR p_every IS NOT NULL THEN
        v_schedule.cron := p_cron;
        v_schedule.every := p_every;
        v_schedule.anchor := CASE WHEN p_cron IS NULL THEN v_schedule.anchor END;
    END IF;
    v_schedule.name := coalesce(p_new_name, v_schedule.name);
    v_schedule.timezone := coalesce(p_timezone, v_schedule.timezone);
    v_schedule.anchor := coalesce(p_anchor, v_schedule.anchor);
    v_schedule.enabled := coalesce(p_enabled, v_schedule.enabled);
    v_schedule := pgauto_mv._check_schedule(v_schedule);
    BEGIN
        UPDATE pgauto_mv.schedules AS s
        SET name = v_schedule.name,
            cron = v_schedule.cron,
            every = v_schedule.every,
            timezone = v_schedule.timezone,
            anchor = v_schedule.anchor,
            enabled = v_schedule.enabled,
            fields = v_schedule.fields,
            updated_at = clock_timestamp()
        WHERE s.schedule_id = v_schedule.schedule_id;
    EXCEPTION WHEN unique_violation THEN
        RAISE EXCEPTION USING ERRCODE = 'PM002', MESSAGE = format('schedule %L exists already', p_new_name),
            DETAIL = format('p_new_name = %L', p_new_name),
            HINT = 'Schedules are listed in pgauto_mv.schedules.';
    END;
    PERFORM pgauto_mv._start_schedule(v.auto_mv_id)
    FROM pgauto_mv.materialised_views AS v
    LEFT JOIN pgauto_mv.mv_state AS t ON t.auto_mv_id = v.auto_mv_id
    WHERE v.schedule_id = v_schedule.schedule_id
      AND (t.next_scheduled_at > clock_timestamp()) IS NOT FALSE
    ORDER BY v.auto_mv_id;
END
$$;
COMMENT ON FUNCTION pgauto_mv.update_schedule(text, text, interval, text, timestamptz, boolean, text) IS 'Changes a schedule; NULL leaves a setting as it is. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.update_schedule(text, text, interval, text, timestamptz, boolean, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.update_schedule(text, text, interval, text, timestamptz, boolean, text) TO pgauto_mv_admin;
