-- Purpose: what create_schedule() and update_schedule() refuse, in one place, and what they fill in.
-- Parameters: the schedule as it would become; timezone NULL: the database's, anchor NULL: the midnight that began the day
-- Returns: the same with the zone's proper name, the cron expression read or the interval in seconds with its anchor
-- Raises: PM003 bad argument
CREATE FUNCTION pgauto_mv._check_schedule(p_schedule pgauto_mv.schedules)
RETURNS pgauto_mv.schedules
LANGUAGE plpgsql STABLE SECURITY INVOKER
-- From PostgreSQL 18 on a name is first looked for among the abbreviations of the session's zone, where UTC can be anything.
SET TimeZone = 'UTC'
AS $$
DECLARE
    v_schedule pgauto_mv.schedules := p_schedule;
    v_seconds  numeric := extract(epoch FROM p_schedule.every);
    v_problem  text;
    v_detail   text;
    v_hint     text;
BEGIN
    IF p_schedule.name IS NULL OR char_length(p_schedule.name) NOT BETWEEN 1 AND 200 OR p_schedule.name ~ '[[:cntrl:]]' THEN
        v_problem := 'schedule name must be 1 to 200 characters without control characters';
        v_detail := format('name = %L', left(p_schedule.name, 220));
        v_hint := 'Choose a name that says when, such as nightly.';
    ELSIF (p_schedule.cron IS NULL) = (p_schedule.every IS NULL) THEN
        v_problem := 'a schedule is either a cron expression or an interval';
        v_detail := format('p_cron = %L, p_every = %L', p_schedule.cron, p_schedule.every);
        v_hint := 'Give exactly one of p_cron and p_every.';
    ELSIF extract(YEAR FROM p_schedule.every) <> 0 OR extract(MONTH FROM p_schedule.every) <> 0 THEN
        v_problem := 'an interval of months or years has no fixed length';
        v_detail := format('p_every = %L', p_schedule.every);
        v_hint := 'Use p_cron, such as @monthly, or days.';
    ELSIF v_seconds NOT BETWEEN 1 AND 31622400 OR v_seconds <> floor(v_seconds) THEN
        v_problem := 'an interval must be whole seconds, at least one and at most 366 days';
        v_detail := format('p_every = %L', p_schedule.every);
        v_hint := 'Such as ''90 seconds'', ''15 minutes'' or ''1 day''.';
    ELSIF p_schedule.cron IS NOT NULL AND p_schedule.anchor IS NOT NULL THEN
        v_problem := 'a cron expression takes no anchor';
        v_detail := format('p_cron = %L, p_anchor = %L', p_schedule.cron, p_schedule.anchor);
        v_hint := 'An anchor belongs to p_every; a cron expression names its times itself.';
    ELSIF NOT isfinite(p_schedule.anchor) THEN
        v_problem := 'the anchor of an interval must be a time';
        v_detail := format('p_anchor = %L', p_schedule.anchor);
        v_hint := 'Slots are at p_anchor + n × p_every; leave it out for the last midnight.';
    END IF;
    IF v_problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PM003', MESSAGE = v_problem, DETAIL = v_detail, HINT = v_hint;
    END IF;
    v_schedule.fields := CASE WHEN p_schedule.cron IS NOT NULL THEN pgauto_mv._parse_cron(p_schedule.cron) END;
    v_schedule.timezone := pgauto_mv._zone(p_schedule.timezone);
    IF p_schedule.every IS NOT NULL THEN
        v_schedule.every := make_interval(secs => v_seconds);
        v_schedule.anchor := coalesce(p_schedule.anchor,
            timezone(v_schedule.timezone, date_trunc('day', timezone(v_schedule.timezone, clock_timestamp()))));
    END IF;
    RETURN v_schedule;
END
$$;
COMMENT ON FUNCTION pgauto_mv._check_schedule(pgauto_mv.schedules) IS 'Refuses a malformed schedule and completes a good one. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._check_schedule(pgauto_mv.schedules) FROM PUBLIC;
