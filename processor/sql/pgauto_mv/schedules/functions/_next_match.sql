-- Purpose: the first minute of the calendar that a cron expression names, as if no clock were ever changed.
-- Parameters: p_fields  the expression
--             p_from    local time; the first minute that may be it, seconds are rounded up
-- Returns: local time; NULL: there is none
CREATE FUNCTION pgauto_mv._next_match(p_fields pgauto_mv.cron_fields, p_from timestamp)
RETURNS timestamp
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$
DECLARE
    v_from   timestamp := date_trunc('minute', p_from + interval '1 minute' - interval '1 microsecond');
    v_day    date := pgauto_mv._next_day(p_fields, v_from::date);
    v_hour   integer := date_part('hour', v_from);
    v_minute integer := date_part('minute', v_from);
BEGIN
    IF v_day = v_from::date THEN
        IF v_hour = ANY (p_fields.hours) THEN
            -- width_bucket() counts the values up to the one given, so the element behind them is the next.
            v_minute := p_fields.minutes[width_bucket(v_minute - 1, p_fields.minutes) + 1];
            IF v_minute IS NOT NULL THEN
                RETURN v_day + make_time(v_hour, v_minute, 0);
            END IF;
        END IF;
        v_hour := p_fields.hours[width_bucket(v_hour, p_fields.hours) + 1];
        IF v_hour IS NOT NULL THEN
            RETURN v_day + make_time(v_hour, p_fields.minutes[1], 0);
        END IF;
        v_day := pgauto_mv._next_day(p_fields, v_day + 1);
    END IF;
    RETURN v_day + make_time(p_fields.hours[1], p_fields.minutes[1], 0);
END
$$;
COMMENT ON FUNCTION pgauto_mv._next_match(pgauto_mv.cron_fields, timestamp) IS 'First minute of a cron expression by the calendar. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._next_match(pgauto_mv.cron_fields, timestamp) FROM PUBLIC;
