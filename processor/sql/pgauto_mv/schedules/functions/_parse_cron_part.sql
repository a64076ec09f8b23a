-- Purpose: one part of a cron field, that is, what stands between commas.
-- Parameters: p_field  minute, hour, day of month, month or day of week
--             p_part   what was written
-- Returns: its values, coded as in pgauto_mv.cron_fields
-- Raises: PM003 bad argument
CREATE FUNCTION pgauto_mv._parse_cron_part(p_field text, p_part text)
RETURNS integer[]
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_match text[] := regexp_match(p_part, '^([*]|[?]|[^-/*?]+)(?:-([^-/*?]+))?(?:/([^-/*?]+))?$');
    v_low   integer := CASE WHEN p_field IN ('day of month', 'month') THEN 1 ELSE 0 END;
    v_high  integer := CASE p_field WHEN 'minute' THEN 59 WHEN 'hour' THEN 23 WHEN 'day of month' THEN 31 WHEN 'month' THEN 12 ELSE 6 END;
    v_first integer;
    v_last  integer;
    v_step  integer := 1;
BEGIN
    IF p_field = 'day of month' AND upper(p_part) = 'L' THEN
        RETURN ARRAY[32];
    ELSIF p_field = 'day of week' AND p_part ~* '^[^-/*?]+L$' THEN
        RETURN ARRAY[7 + pgauto_mv._parse_cron_value(p_field, left(p_part, -1), p_part) % 7];
    ELSIF v_match IS NULL THEN
        PERFORM pgauto_mv._refuse_cron(p_field, p_part,
            CASE WHEN p_part = '' THEN 'There is nothing before, after or between its commas.' ELSE 'It is not understood.' END);
    ELSIF p_part = '?' AND p_field IN ('day of month', 'day of week') THEN
        RETURN pgauto_mv._parse_cron_part(p_field, '*');
    ELSIF v_match[1] = '?' OR (v_match[1] = '*' AND v_match[2] IS NOT NULL) THEN
        PERFORM pgauto_mv._refuse_cron(p_field, p_part, 'It is not understood.');
    END IF;
    IF v_match[1] = '*' THEN
        v_first := v_low;
        v_last := v_high;
    ELSE
        v_first := pgauto_mv._parse_cron_value(p_field, v_match[1], p_part);
        v_last := CASE
            -- The week may end on Sunday: FRI-SUN.
            WHEN p_field = 'day of week' AND upper(v_match[2]) = 'SUN' AND v_first > 0 THEN 7
            WHEN v_match[2] IS NOT NULL THEN pgauto_mv._parse_cron_value(p_field, v_match[2], p_part)
            WHEN v_match[3] IS NOT NULL THEN greatest(v_first, v_high)
            ELSE v_first
        END;
    END IF;
    IF v_match[3] IS NOT NULL THEN
        IF v_match[3] !~ '^[0-9]{1,2}$' OR v_match[3]::integer NOT BETWEEN 1 AND v_high - v_low + 1 THEN
            PERFORM pgauto_mv._refuse_cron(p_field, p_part, format('The step %s is not between 1 and %s.', v_match[3], v_high - v_low + 1));
        END IF;
        v_step := v_match[3]::integer;
    END IF;
    IF v_first > v_last THEN
        PERFORM pgauto_mv._refuse_cron(p_field, p_part, 'A range runs upwards; one that passes the end is written as two, such as 22-23,0-2.');
    END IF;
    RETURN ARRAY(SELECT CASE WHEN p_field = 'day of week' THEN g % 7 ELSE g END FROM generate_series(v_first, v_last, v_step) AS g);
END
$$;
COMMENT ON FUNCTION pgauto_mv._parse_cron_part(text, text) IS 'Reads what stands between the commas of a cron field. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._parse_cron_part(text, text) FROM PUBLIC;
