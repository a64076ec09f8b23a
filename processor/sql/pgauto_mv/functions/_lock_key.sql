-- Purpose: key of the advisory lock that a running refresh holds, for others to see.
-- Parameters: p_auto_mv_id
-- Returns: 64-bit key
CREATE FUNCTION pgauto_mv._lock_key(p_auto_mv_id uuid)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT pg_catalog.hashtextextended(p_auto_mv_id::text, 5283410) $$;
COMMENT ON FUNCTION pgauto_mv._lock_key(uuid) IS 'Key of the advisory lock of a running refresh. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._lock_key(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._lock_key(uuid) TO pgauto_mv_monitor;
