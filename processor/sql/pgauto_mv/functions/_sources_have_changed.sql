-- Purpose: whether what a view reads differs from what is watched for it, in a way that makes changes go unnoticed.
-- Parameters: p_auto_mv_id; p_mv_oid
-- Returns: true or false
-- Reads: materialised_views, mv_sources, _relations_read(), pg_inherits
CREATE FUNCTION pgauto_mv._sources_have_changed(p_auto_mv_id uuid, p_mv_oid oid)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH watched AS MATERIALIZED (SELECT s.oid, s.relkind FROM pgauto_mv._sources(p_auto_mv_id) AS s)
    SELECT EXISTS (
        SELECT
        FROM pgauto_mv.materialised_views AS m
        CROSS JOIN LATERAL pgauto_mv._relations_read(p_mv_oid) AS r
        WHERE m.auto_mv_id = p_auto_mv_id
          AND m.derive_sources
          AND r.relkind IN ('r', 'p', 'f')
          AND r.oid NOT IN (SELECT w.oid FROM watched AS w)
    ) OR EXISTS (
        SELECT
        FROM watched AS w
        JOIN pg_inherits AS i ON i.inhparent = w.oid
        WHERE w.relkind = 'r' AND i.inhrelid NOT IN (SELECT o.oid FROM watched AS o)
    )
$$;
COMMENT ON FUNCTION pgauto_mv._sources_have_changed(uuid, oid) IS 'Whether what a view reads is not what is watched for it. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._sources_have_changed(uuid, oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._sources_have_changed(uuid, oid) TO pgauto_mv_monitor;
