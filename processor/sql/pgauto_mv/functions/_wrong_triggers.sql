-- Purpose: where the triggers on the sources of a view are not what they should be.
-- Parameters: p_auto_mv_id
--             p_gently  leave out what is there and wanted: somebody may have disabled it
-- Returns: a row for each: table and name; type and enabled as they should be, NULL: it should not be there; present: one of that name is there
-- Reads: _expected_triggers(), _present_triggers()
CREATE FUNCTION pgauto_mv._wrong_triggers(p_auto_mv_id uuid, p_gently boolean DEFAULT false)
RETURNS TABLE (source oid, name text, type smallint, enabled "char", present boolean)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(x.source, p.source), coalesce(x.name, p.name), x.type, x.enabled, p.name IS NOT NULL
    FROM pgauto_mv._expected_triggers(p_auto_mv_id) AS x
    FULL JOIN pgauto_mv._present_triggers(p_auto_mv_id) AS p ON (p.source, p.name) = (x.source, x.name)
    WHERE (x.type, x.enabled) IS DISTINCT FROM (p.type, p.enabled)
      AND NOT (p_gently AND x.name IS NOT NULL AND p.name IS NOT NULL)
$$;
COMMENT ON FUNCTION pgauto_mv._wrong_triggers(uuid, boolean) IS 'Triggers on the sources of a view that are not what they should be. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._wrong_triggers(uuid, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._wrong_triggers(uuid, boolean) TO pgauto_mv_monitor;
