-- Purpose: the relations that the definition of a view reads, through plain views. Other materialised views are given, and not looked into: a
--          view that reads one follows it in the chain. What a function reads is not in the catalog.
-- Parameters: p_mv_oid
-- Returns: OID and kind of each, the view itself and the plain views in between among them
-- Reads: pg_depend, pg_rewrite, pg_class
CREATE FUNCTION pgauto_mv._relations_read(p_mv_oid oid)
RETURNS TABLE (oid oid, relkind "char")
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE reached AS (
        SELECT c.oid, c.relkind FROM pg_class AS c WHERE c.oid = p_mv_oid
        UNION
        SELECT c.oid, c.relkind
        FROM reached AS r
        JOIN pg_rewrite AS w ON w.ev_class = r.oid
        JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
        JOIN pg_class AS c ON c.oid = d.refobjid AND c.oid <> r.oid
        WHERE r.relkind = 'v' OR r.oid = p_mv_oid
    )
    SELECT r.oid, r.relkind FROM reached AS r
$$;
COMMENT ON FUNCTION pgauto_mv._relations_read(oid) IS 'Relations that the definition of a view reads. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._relations_read(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._relations_read(oid) TO pgauto_mv_monitor;
