-- Purpose: one value of a cron field: a number or, for months and weekdays, a name.
-- Parameters: p_field  minute, hour, day of month, month or day of week
--             p_value  what was written
--             p_part   what p_value is a part of, for the error
-- Returns: the number; Sunday is 0 or 7, as it was written
-- Raises: PM003 bad argument
CREATE FUNCTION pgauto_mv._parse_cron_value(p_field text, p_value text, p_part text)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_low   integer := CASE WHEN p_field IN ('day of month', 'month') THEN 1 ELSE 0 END;
    v_high  integer := CASE p_field WHEN 'minute' THEN 59 WHEN 'hour' THEN 23 WHEN 'day of month' THEN 31 WHEN 'month' THEN 12 ELSE 7 END;
    v_names text[] := CASE p_field
        WHEN 'month' THEN ARRAY['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
        WHEN 'day of week' THEN ARRAY['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
    END;
    v_value integer := v_low + array_position(v_names, upper(p_value)) - 1;
BEGIN
    IF v_value IS NULL AND p_value ~ '^[0-9]{1,2}$' THEN
        v_value := p_value::integer;
    END IF;
    IF v_value IS NULL THEN
        PERFORM pgauto_mv._refuse_cron(p_field, p_part, format('%L is not understood.', p_value));
    ELSIF v_value NOT BETWEEN v_low AND v_high THEN
        PERFORM pgauto_mv._refuse_cron(p_field, p_part, format('%s is not between %s and %s.', p_value, v_low, v_high));
    END IF;
    RETURN v_value;
END
$$;
COMMENT ON FUNCTION pgauto_mv._parse_cron_value(text, text, text) IS 'Reads one value of a cron field. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._parse_cron_value(text, text, text) FROM PUBLIC;
