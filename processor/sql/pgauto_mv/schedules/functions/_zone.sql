-- Purpose: the name of a time zone as pg_timezone_names spells it. The server also takes POSIX texts such as UTC+5 or Foo5, whose sign is the
--          opposite of what people mean by it; they are refused.
-- Parameters: p_timezone  NULL: that of the database (ALTER DATABASE), else that of the server's configuration or the client's connection;
--                         never what SET has made of it
-- Returns: the name
-- Raises: PM003 bad argument; a WARNING for a name that has no summer time although its place has
CREATE FUNCTION pgauto_mv._zone(p_timezone text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
DECLARE
    v_asked text := p_timezone;
    v_zone  text;
BEGIN
    IF v_asked IS NULL THEN
        SELECT substr(c.setting, length('timezone=') + 1) INTO v_asked
        FROM pg_db_role_setting AS s
        JOIN pg_database AS d ON d.oid = s.setdatabase
        CROSS JOIN LATERAL unnest(s.setconfig) AS c (setting)
        WHERE d.datname = current_database() AND s.setrole = 0 AND c.setting ILIKE 'timezone=%';
        IF NOT FOUND THEN
            SELECT s.reset_val INTO v_asked FROM pg_settings AS s WHERE s.name = 'TimeZone';
        END IF;
    END IF;
    SELECT z.name INTO v_zone FROM pg_timezone_names AS z WHERE lower(z.name) = lower(v_asked);
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PM003', MESSAGE = format('time zone %L is not known', v_asked),
            DETAIL = CASE WHEN p_timezone IS NULL THEN 'p_timezone = NULL, and the database is set to this zone' ELSE format('p_timezone = %L', p_timezone) END,
            HINT = 'Give a name of pg_timezone_names, such as UTC or Europe/Berlin.';
    END IF;
    IF v_zone IN ('EST', 'MST', 'HST') THEN
        RAISE WARNING USING MESSAGE = format('time zone %s has no summer time', v_zone),
            HINT = 'Name a place instead, such as America/New_York, if summer time is meant.';
    END IF;
    RETURN v_zone;
END
$$;
COMMENT ON FUNCTION pgauto_mv._zone(text) IS 'Spells the name of a time zone. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._zone(text) FROM PUBLIC;
