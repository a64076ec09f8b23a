-- Purpose: the sources of a view that are there.
-- Parameters: p_auto_mv_id
-- Returns: a row of pg_class for each
-- Reads: mv_sources, pg_class
CREATE FUNCTION pgauto_mv._sources(p_auto_mv_id uuid)
RETURNS SETOF pg_class
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT c.*
    FROM pgauto_mv.mv_sources AS s
    JOIN pg_namespace AS n ON n.nspname = s.source_schema
    JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = s.source_name AND c.relkind IN ('r', 'p')
    WHERE s.auto_mv_id = p_auto_mv_id
$$;
COMMENT ON FUNCTION pgauto_mv._sources(uuid) IS 'Sources of a view that are there. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._sources(uuid) FROM PUBLIC;
