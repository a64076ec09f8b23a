-- Purpose: the triggers of pg_auto_mv that tables carry. Clones on partitions belong to the trigger of their parent.
-- Parameters: p_auto_mv_id  NULL: of all views, registered or not
-- Returns: as _expected_triggers()
-- Reads: pg_trigger
CREATE FUNCTION pgauto_mv._present_triggers(p_auto_mv_id uuid DEFAULT NULL)
RETURNS TABLE (source oid, name text, type smallint, enabled "char")
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT t.tgrelid, t.tgname::text, t.tgtype, t.tgenabled
    FROM pg_trigger AS t
    WHERE t.tgfoid = 'pgauto_mv._source_changed()'::regprocedure
      AND t.tgparentid = 0
      AND (p_auto_mv_id IS NULL OR t.tgname::text LIKE 'pgauto\_mv\_' || replace(p_auto_mv_id::text, '-', '') || '\_%')
$$;
COMMENT ON FUNCTION pgauto_mv._present_triggers(uuid) IS 'Triggers of pg_auto_mv that tables carry. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._present_triggers(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._present_triggers(uuid) TO pgauto_mv_monitor;
