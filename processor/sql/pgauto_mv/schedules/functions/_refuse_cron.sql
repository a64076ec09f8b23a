-- Purpose: how a part of a cron expression is refused: the field, the part, the reason, and what the field accepts.
-- Parameters: p_field   minute, hour, day of month, month or day of week
--             p_part    what was written
--             p_reason  a sentence
-- Raises: PM003 bad argument, always
CREATE FUNCTION pgauto_mv._refuse_cron(p_field text, p_part text, p_reason text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PM003',
        MESSAGE = format('the %s field of a cron expression cannot be %L', p_field, p_part),
        DETAIL = p_reason,
        HINT = format('It takes %s; also * (all), a-b, a,b and steps */n, a/n (from a on), a-b/n.', CASE p_field
            WHEN 'minute' THEN '0 to 59'
            WHEN 'hour' THEN '0 to 23'
            WHEN 'day of month' THEN '1 to 31, L (the last day)'
            WHEN 'month' THEN '1 to 12, JAN to DEC'
            WHEN 'day of week' THEN '0 to 7 (0 and 7 are Sunday), SUN to SAT, 5L or FRIL (the last Friday)'
        END);
END
$$;
COMMENT ON FUNCTION pgauto_mv._refuse_cron(text, text, text) IS 'Refuses a part of a cron expression. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._refuse_cron(text, text, text) FROM PUBLIC;
