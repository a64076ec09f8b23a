-- Purpose: a dispatch of a view, served by one that is pending already if it runs no later.
-- Parameters: p_auto_mv_id; p_run_at  not before this time
-- Raises: PR001 the channel is not registered
-- Writes: pgrelay.queue
CREATE FUNCTION pgauto_mv._send(p_auto_mv_id uuid, p_run_at timestamptz DEFAULT pg_catalog.clock_timestamp())
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pgrelay.notify(
        'pg_auto_mv.refresh_materialised_view',
        p_auto_mv_id::text,
        run_at => p_run_at,
        expire_at => NULL,
        p_deduplicate => true
    )
$$;
COMMENT ON FUNCTION pgauto_mv._send(uuid, timestamptz) IS 'Enqueues a dispatch of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._send(uuid, timestamptz) FROM PUBLIC;
