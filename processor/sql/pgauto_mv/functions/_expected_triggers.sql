-- Purpose: the triggers that the sources of a view should carry.
--              plain table                  one statement trigger: a bulk load is one call
--              partitioned table            a row trigger, which PostgreSQL clones to all partitions, so that writes straight into one count
--              partition, inheriting table  a row trigger: writes through the parent fire no statement trigger of it
--              fire_on_replica              a row trigger, ENABLE ALWAYS: streamed changes fire no statement trigger
--              TRUNCATE                     a statement trigger on the table and on every partition below it
-- Parameters: p_auto_mv_id
-- Returns: a row for each trigger: table, name, pg_trigger.tgtype, pg_trigger.tgenabled
-- Reads: materialised_views, mv_sources, the partition trees
CREATE FUNCTION pgauto_mv._expected_triggers(p_auto_mv_id uuid)
RETURNS TABLE (source oid, name text, type smallint, enabled "char")
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH tables AS (
        SELECT
            c.oid,
            m.fire_on_replica OR c.relkind = 'p' OR EXISTS (SELECT FROM pg_inherits AS i WHERE i.inhrelid = c.oid) AS by_row,
            CASE WHEN m.fire_on_replica THEN 'A'::"char" ELSE 'O'::"char" END AS enabled,
            m.events,
            'pgauto_mv_' || replace(m.auto_mv_id::text, '-', '') AS prefix
        FROM pgauto_mv.materialised_views AS m
        CROSS JOIN LATERAL pgauto_mv._sources(m.auto_mv_id) AS c
        WHERE m.auto_mv_id = p_auto_mv_id
    )
    SELECT t.oid, t.prefix || '_change', e.type::smallint, t.enabled
    FROM tables AS t
    CROSS JOIN LATERAL (
        -- Bits of tgtype: row 1, insert 4, delete 8, update 16, truncate 32.
        SELECT t.by_row::integer
               + 4 * ('insert' = ANY (t.events))::integer
               + 8 * ('delete' = ANY (t.events))::integer
               + 16 * ('update' = ANY (t.events))::integer AS type
    ) AS e
    WHERE e.type > 1
    UNION
    SELECT p.relid, t.prefix || '_truncate', 32::smallint, t.enabled
    FROM tables AS t
    CROSS JOIN LATERAL (SELECT t.oid AS relid UNION SELECT x.relid FROM pg_partition_tree(t.oid) AS x) AS p
    WHERE 'truncate' = ANY (t.events)
$$;
COMMENT ON FUNCTION pgauto_mv._expected_triggers(uuid) IS 'Triggers that the sources of a view should carry. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._expected_triggers(uuid) FROM PUBLIC;
