-- Purpose: the next slot of a schedule. Asked with the current time it leaves out whatever was missed, so that missed slots run once.
-- Parameters: p_schedule_id  NULL, or one that does not exist: no slot
--             p_after        the slot is later than this
-- Returns: the slot; NULL: never, also when the schedule is disabled
-- Reads: pgauto_mv.schedules
CREATE FUNCTION pgauto_mv._next_slot(p_schedule_id uuid, p_after timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY INVOKER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_schedule pgauto_mv.schedules;
    v_seconds  numeric;
    v_n        numeric;
BEGIN
    SELECT s.* INTO v_schedule FROM pgauto_mv.schedules AS s WHERE s.schedule_id = p_schedule_id AND s.enabled;
    IF NOT FOUND OR p_after IS NULL OR NOT isfinite(p_after) THEN
        RETURN NULL;
    END IF;
    IF v_schedule.cron IS NOT NULL THEN
        RETURN pgauto_mv._next_cron_slot(v_schedule.fields, v_schedule.timezone, p_after);
    END IF;
    v_seconds := extract(epoch FROM v_schedule.every);
    v_n := floor((extract(epoch FROM p_after) - extract(epoch FROM v_schedule.anchor)) / v_seconds) + 1;
    RETURN v_schedule.anchor + make_interval(secs => v_n * v_seconds);
END
$$;
COMMENT ON FUNCTION pgauto_mv._next_slot(uuid, timestamptz) IS 'Next slot of a schedule, NULL when there is none. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._next_slot(uuid, timestamptz) FROM PUBLIC;
