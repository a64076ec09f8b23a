-- Purpose: keys of the two advisory locks of a view: the one that a running refresh holds, for others to see, and the one that writers share
--          who rely on a deferred dispatch, see _source_changed().
-- Parameters: p_auto_mv_id; p_use  refresh or deferral
-- Returns: 64-bit key
CREATE FUNCTION pgauto_mv._lock_key(p_auto_mv_id uuid, p_use text)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT pg_catalog.hashtextextended(p_use OPERATOR(pg_catalog.||) p_auto_mv_id::pg_catalog.text, 5283410) $$;
COMMENT ON FUNCTION pgauto_mv._lock_key(uuid, text) IS 'Keys of the advisory locks of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._lock_key(uuid, text) FROM PUBLIC;
