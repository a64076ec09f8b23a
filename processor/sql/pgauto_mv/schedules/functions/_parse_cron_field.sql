-- Purpose: one field of a cron expression.
-- Parameters: p_field  minute, hour, day of month, month or day of week
--             p_text   what was written
-- Returns: its values, sorted, coded as in pgauto_mv.cron_fields
-- Raises: PM003 bad argument
CREATE FUNCTION pgauto_mv._parse_cron_field(p_field text, p_text text)
RETURNS integer[]
LANGUAGE sql IMMUTABLE SECURITY INVOKER
AS $$
    SELECT pg_catalog.array_agg(DISTINCT v.value ORDER BY v.value)
    FROM pg_catalog.regexp_split_to_table(p_text, ',') AS p (part)
    CROSS JOIN LATERAL pg_catalog.unnest(pgauto_mv._parse_cron_part(p_field, p.part)) AS v (value)
$$;
COMMENT ON FUNCTION pgauto_mv._parse_cron_field(text, text) IS 'Reads one field of a cron expression. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._parse_cron_field(text, text) FROM PUBLIC;
