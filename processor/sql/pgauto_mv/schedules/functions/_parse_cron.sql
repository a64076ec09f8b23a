-- Purpose: read a cron expression, once, when the schedule is made. Anything that is not understood is refused, and so is what never comes.
-- Parameters: p_cron  five fields (minute, hour, day of month, month, day of week) or a nickname
-- Returns: the fields. As in cron (crontab(5)), a day that is restricted in both fields is any that is in one of them.
-- Raises: PM003 bad argument
CREATE FUNCTION pgauto_mv._parse_cron(p_cron text)
RETURNS pgauto_mv.cron_fields
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_cron   text := btrim(p_cron, E' \t\r\n');
    v_texts  text[];
    v_fields pgauto_mv.cron_fields;
BEGIN
    v_cron := CASE lower(v_cron)
        WHEN '@hourly' THEN '0 * * * *'
        WHEN '@daily' THEN '0 0 * * *'
        WHEN '@midnight' THEN '0 0 * * *'
        WHEN '@weekly' THEN '0 0 * * 0'
        WHEN '@monthly' THEN '0 0 1 * *'
        WHEN '@yearly' THEN '0 0 1 1 *'
        WHEN '@annually' THEN '0 0 1 1 *'
        ELSE v_cron
    END;
    IF left(v_cron, 1) = '@' THEN
        RAISE EXCEPTION USING ERRCODE = 'PM003', MESSAGE = format('cron nickname %L is not known', v_cron), DETAIL = format('cron = %L', p_cron),
            HINT = 'Known are @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually; for a fixed interval give p_every.';
    END IF;
    v_texts := regexp_split_to_array(v_cron, E'[ \t\r\n]+');
    IF v_cron = '' OR cardinality(v_texts) <> 5 THEN
        RAISE EXCEPTION USING ERRCODE = 'PM003',
            MESSAGE = format('a cron expression has five fields, not %s', CASE WHEN v_cron = '' THEN 0 ELSE cardinality(v_texts) END),
            DETAIL = format('cron = %L', p_cron),
            HINT = 'They are minute, hour, day of month, month and day of week; seconds and years are not among them.';
    END IF;
    v_fields.minutes := pgauto_mv._parse_cron_field('minute', v_texts[1]);
    v_fields.hours := pgauto_mv._parse_cron_field('hour', v_texts[2]);
    v_fields.days := pgauto_mv._parse_cron_field('day of month', v_texts[3]);
    v_fields.months := pgauto_mv._parse_cron_field('month', v_texts[4]);
    v_fields.weekdays := pgauto_mv._parse_cron_field('day of week', v_texts[5]);
    v_fields.both_days := v_texts[3] ~ '[*?]' OR v_texts[5] ~ '[*?]';
    v_fields.wildcard := v_texts[1] || ',' || v_texts[2] ~ '[*]|(^|,)[0-9]+/';
    IF pgauto_mv._next_day(v_fields, date '2000-01-01') IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PM003', MESSAGE = format('no day is ever %L in the last three fields of a cron expression', array_to_string(v_texts[3:5], ' ')),
            DETAIL = format('cron = %L', p_cron),
            HINT = 'The months named have no such day. L is the last day of any month.';
    END IF;
    RETURN v_fields;
END
$$;
COMMENT ON FUNCTION pgauto_mv._parse_cron(text) IS 'Reads a cron expression. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._parse_cron(text) FROM PUBLIC;
