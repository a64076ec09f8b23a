-- Purpose: whether an upkeep is coming on this node.
-- Returns: true or false
-- Reads: pgrelay.queue
CREATE FUNCTION pgauto_mv._upkeep_is_queued()
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT
        FROM pgrelay.queue AS q
        WHERE q.status = 'pending'
          AND q.twin_key = pgrelay._twin_key('pg_auto_mv.upkeep', pgrelay.node_name(), NULL)
          AND q.channel = 'pg_auto_mv.upkeep'
    )
$$;
COMMENT ON FUNCTION pgauto_mv._upkeep_is_queued() IS 'Whether an upkeep is coming on this node. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._upkeep_is_queued() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._upkeep_is_queued() TO pgauto_mv_monitor;
