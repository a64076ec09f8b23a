-- Purpose: a given source that was renamed has taken its triggers along, and is found by them.
-- Parameters: p_auto_mv_id
-- Writes: mv_sources
CREATE FUNCTION pgauto_mv._follow_sources(p_auto_mv_id uuid)
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM pgauto_mv.mv_sources AS s
        WHERE s.auto_mv_id = p_auto_mv_id AND to_regclass(format('%I.%I', s.source_schema, s.source_name)) IS NULL
        RETURNING s.auto_mv_id
    )
    INSERT INTO pgauto_mv.mv_sources (auto_mv_id, source_schema, source_name)
    SELECT DISTINCT p_auto_mv_id, n.nspname, c.relname
    FROM pgauto_mv._present_triggers(p_auto_mv_id) AS t
    JOIN pg_class AS c ON c.oid = t.source
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE EXISTS (SELECT FROM gone)
      -- Partitions carry triggers of their own only for TRUNCATE.
      AND (t.type <> 32 OR NOT c.relispartition)
    ON CONFLICT DO NOTHING
$$;
COMMENT ON FUNCTION pgauto_mv._follow_sources(uuid) IS 'Follows given sources that were renamed. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._follow_sources(uuid) FROM PUBLIC;
