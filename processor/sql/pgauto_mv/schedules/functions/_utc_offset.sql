-- Purpose: how far the clock of a zone is ahead of UTC.
-- Parameters: p_timezone
--             p_at
-- Returns: the offset, summer time included
CREATE FUNCTION pgauto_mv._utc_offset(p_timezone text, p_at timestamptz)
RETURNS interval
LANGUAGE sql STABLE PARALLEL SAFE SECURITY INVOKER
AS $$
    SELECT pg_catalog.timezone(p_timezone, p_at) OPERATOR(pg_catalog.-) pg_catalog.timezone('UTC', p_at)
$$;
COMMENT ON FUNCTION pgauto_mv._utc_offset(text, timestamptz) IS 'Offset of a zone from UTC. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._utc_offset(text, timestamptz) FROM PUBLIC;
