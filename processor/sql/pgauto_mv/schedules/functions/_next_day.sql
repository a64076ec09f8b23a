-- Purpose: the first day that a cron expression names. Pure calendar.
-- Parameters: p_fields  the expression
--             p_from    the first day that may be it
-- Returns: the day; NULL: there is none. 41 years prove that: the rarest day there is, 29 February on one weekday, is at most
--          40 years away (over a year such as 2100).
CREATE FUNCTION pgauto_mv._next_day(p_fields pgauto_mv.cron_fields, p_from date)
RETURNS date
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$
DECLARE
    v_day        date := p_from;
    v_last       date;
    v_by_day     boolean;
    v_by_weekday boolean;
BEGIN
    WHILE v_day < p_from + interval '41 years' LOOP
        v_last := date_trunc('month', v_day::timestamp) + interval '1 month' - interval '1 day';
        IF date_part('month', v_day) = ANY (p_fields.months) THEN
            WHILE v_day <= v_last LOOP
                v_by_day := date_part('day', v_day) = ANY (p_fields.days)
                    OR (v_day = v_last AND 32 = ANY (p_fields.days));
                v_by_weekday := date_part('dow', v_day) = ANY (p_fields.weekdays)
                    OR (v_day + 7 > v_last AND date_part('dow', v_day) + 7 = ANY (p_fields.weekdays));
                IF (v_by_day AND v_by_weekday) OR (NOT p_fields.both_days AND (v_by_day OR v_by_weekday)) THEN
                    RETURN v_day;
                END IF;
                v_day := v_day + 1;
            END LOOP;
        END IF;
        v_day := v_last + 1;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION pgauto_mv._next_day(pgauto_mv.cron_fields, date) IS 'First day of a cron expression. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._next_day(pgauto_mv.cron_fields, date) FROM PUBLIC;
