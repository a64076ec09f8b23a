-- Purpose: the REFRESH itself. It runs the query as the owner of the view; the search_path is the one that PostgreSQL 17 sets by itself, so that a
--          view that needs another one fails on every version. A timeout of the statement cannot be set from here: it is the channel's action_timeout.
-- Parameters: p_schema, p_name  the view; p_concurrently; p_lock_timeout  how long to wait for its lock
-- Raises: whatever REFRESH raises
CREATE FUNCTION pgauto_mv._refresh(p_schema text, p_name text, p_concurrently boolean, p_lock_timeout interval)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- With the setting on the function a local change of it ends with the function.
SET lock_timeout = '5s'
AS $$
BEGIN
    PERFORM set_config('lock_timeout', ceil(extract(epoch FROM p_lock_timeout) * 1000)::text, true);
    EXECUTE format('REFRESH MATERIALIZED VIEW %s %I.%I', CASE WHEN p_concurrently THEN 'CONCURRENTLY' ELSE '' END, p_schema, p_name);
END
$$;
COMMENT ON FUNCTION pgauto_mv._refresh(text, text, boolean, interval) IS 'Refreshes a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._refresh(text, text, boolean, interval) FROM PUBLIC;
