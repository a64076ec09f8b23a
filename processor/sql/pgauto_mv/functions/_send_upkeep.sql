-- Purpose: the next upkeep, served by one that is pending already. Whoever refreshes a view asks for it, so that it goes on even if its event was lost.
-- Parameters: p_run_at  not before this time
-- Raises: PR001 the channel is not registered
-- Writes: pgrelay.queue
CREATE FUNCTION pgauto_mv._send_upkeep(p_run_at timestamptz DEFAULT pg_catalog.clock_timestamp() + '1 minute'::pg_catalog.interval)
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT pgrelay.notify('pg_auto_mv.upkeep', run_at => p_run_at, p_deduplicate => true) $$;
COMMENT ON FUNCTION pgauto_mv._send_upkeep(timestamptz) IS 'Enqueues the next upkeep. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._send_upkeep(timestamptz) FROM PUBLIC;
