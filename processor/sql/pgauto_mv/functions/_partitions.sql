-- Purpose: fingerprint of the partitions below the sources of a view. ATTACH, DETACH and DROP of a partition change what a view
--          shows and fire no trigger; this changes with them.
-- Parameters: p_auto_mv_id
-- Returns: the fingerprint; NULL when no source is partitioned
-- Reads: mv_sources, the partition trees
CREATE FUNCTION pgauto_mv._partitions(p_auto_mv_id uuid)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT md5(string_agg(t.relid::oid::text, ' ' ORDER BY t.relid::oid))
    FROM pgauto_mv.mv_sources AS s
    JOIN pg_namespace AS n ON n.nspname = s.source_schema
    JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = s.source_name AND c.relkind = 'p'
    CROSS JOIN LATERAL pg_partition_tree(c.oid) AS t
    WHERE s.auto_mv_id = p_auto_mv_id
$$;
COMMENT ON FUNCTION pgauto_mv._partitions(uuid) IS 'Fingerprint of the partitions below the sources of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._partitions(uuid) FROM PUBLIC;
