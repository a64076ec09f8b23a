-- Purpose: create a schedule that views can be assigned to.
-- Parameters: p_name      1 to 200 characters, no control characters
--             p_cron      cron expression or nickname; this or
--             p_every     fixed interval, whole seconds, at most 366 days; a day is 24 hours
--             p_timezone  name of pg_timezone_names; NULL: that of the database, which is stored
--             p_anchor    slots of an interval are at p_anchor + n × p_every; NULL: the last midnight in the zone
-- Returns: its id
-- Raises: PM002 schedule exists, PM003 bad argument
-- Writes: pgauto_mv.schedules
CREATE FUNCTION pgauto_mv.create_schedule(
    p_name     text,
    p_cron     text        DEFAULT NULL,
    p_every    interval    DEFAULT NULL,
    p_timezone text        DEFAULT NULL,
    p_anchor   timestamptz DEFAULT NULL
)
RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_schedule pgauto_mv.schedules;
BEGIN
    v_schedule.name := p_name;
    v_schedule.cron := p_cron;
    v_schedule.every := p_every;
    v_schedule.timezone := p_timezone;
    v_schedule.anchor := p_anchor;
    v_schedule := pgauto_mv._check_schedule(v_schedule);
    INSERT INTO pgauto_mv.schedules AS s (name, cron, every, timezone, anchor, fields)
    VALUES (v_schedule.name, v_schedule.cron, v_schedule.every, v_schedule.timezone, v_schedule.anchor, v_schedule.fields)
    ON CONFLICT (name) DO NOTHING
    RETURNING s.schedule_id INTO v_schedule.schedule_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PM002',
            MESSAGE = format('schedule %L exists already', p_name),
            DETAIL = format('p_name = %L', p_name),
            HINT = 'Change it with SELECT pgauto_mv.update_schedule(name, …).';
    END IF;
    RETURN v_schedule.schedule_id;
END
$$;
COMMENT ON FUNCTION pgauto_mv.create_schedule(text, text, interval, text, timestamptz) IS 'Creates a schedule from a cron expression or an interval. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.create_schedule(text, text, interval, text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.create_schedule(text, text, interval, text, timestamptz) TO pgauto_mv_admin;
