-- Purpose: the relations that the definition of a view reads, through plain views. Other materialised views are given, and not looked into: a
--          view that reads one follows it in the chain. What a function reads is not in the catalog.
-- Parameters: p_mv_oid
-- Returns: OIDs of tables, partitioned and foreign tables and materialised views; not those of the system's own catalogs
-- Reads: pg_depend, pg_rewrite, pg_class
CREATE FUNCTION pgauto_mv._derive_sources(p_mv_oid oid)
RETURNS SETOF oid
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE reached AS (
        SELECT p_mv_oid AS oid, 'v'::"char" AS relkind
        UNION
        SELECT c.oid, c.relkind
        FROM reached AS r
        JOIN pg_rewrite AS w ON w.ev_class = r.oid
        JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
        JOIN pg_class AS c ON c.oid = d.refobjid AND c.oid <> r.oid
        WHERE r.relkind = 'v'
    )
    SELECT r.oid FROM reached AS r WHERE r.relkind IN ('r', 'p', 'f', 'm') AND r.oid <> p_mv_oid ORDER BY r.oid
$$;
COMMENT ON FUNCTION pgauto_mv._derive_sources(oid) IS 'Relations that a view reads. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._derive_sources(oid) FROM PUBLIC;
