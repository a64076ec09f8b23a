-- Purpose: what a view depends on, by its definition.
-- Parameters: p_mv_oid
-- Returns: OIDs of tables, partitioned and foreign tables and materialised views; not those of the system's own catalogs, which pg_depend leaves out
-- Reads: _relations_read()
CREATE FUNCTION pgauto_mv._derive_sources(p_mv_oid oid)
RETURNS SETOF oid
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT r.oid FROM pgauto_mv._relations_read(p_mv_oid) AS r WHERE r.relkind IN ('r', 'p', 'f', 'm') AND r.oid <> p_mv_oid ORDER BY r.oid
$$;
COMMENT ON FUNCTION pgauto_mv._derive_sources(oid) IS 'Sources of a view by its definition. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._derive_sources(oid) FROM PUBLIC;
