-- Purpose: fingerprint of what a view reads: its definition, those of the plain views in between, its sources and the partitions below them. ATTACH, DETACH
--          and DROP of a partition and CREATE OR REPLACE VIEW change what a view should show and fire no trigger; this changes with them.
-- Parameters: p_auto_mv_id; p_mv_oid  NULL: it is missing
-- Returns: the fingerprint
-- Reads: mv_sources, the partition trees, pg_rewrite
CREATE FUNCTION pgauto_mv._structure(p_auto_mv_id uuid, p_mv_oid oid)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT md5(concat_ws(' ',
        (SELECT string_agg(w.ev_class::text || w.ev_action::text, ' ' ORDER BY w.ev_class, w.oid)
         FROM pgauto_mv._relations_read(p_mv_oid) AS r
         JOIN pg_rewrite AS w ON w.ev_class = r.oid
         WHERE r.relkind IN ('v', 'm') AND (r.relkind = 'v' OR r.oid = p_mv_oid)),
        (SELECT string_agg(t.oid::text, ' ' ORDER BY t.oid)
         FROM (SELECT c.oid FROM pgauto_mv._sources(p_auto_mv_id) AS c
               UNION
               SELECT x.relid::oid FROM pgauto_mv._sources(p_auto_mv_id) AS c CROSS JOIN LATERAL pg_partition_tree(c.oid) AS x) AS t)
    ))
$$;
COMMENT ON FUNCTION pgauto_mv._structure(uuid, oid) IS 'Fingerprint of what a view reads. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._structure(uuid, oid) FROM PUBLIC;
