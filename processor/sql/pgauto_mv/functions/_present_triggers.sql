-- Purpose: the triggers of pg_auto_mv that tables carry, told by what they call and what for: somebody may have renamed them. Clones on partitions
--          belong to the trigger of their parent.
-- Parameters: p_auto_mv_id  NULL: of all views, registered or not
-- Returns: as _expected_triggers(), with the view
-- Reads: pg_trigger
CREATE FUNCTION pgauto_mv._present_triggers(p_auto_mv_id uuid DEFAULT NULL)
RETURNS TABLE (auto_mv_id uuid, source oid, name text, type smallint, enabled "char")
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.id::uuid, t.tgrelid, t.tgname::text, t.tgtype, t.tgenabled
    FROM pg_trigger AS t
    CROSS JOIN LATERAL (SELECT left(encode(t.tgargs, 'escape'), 36) AS id) AS a
    WHERE t.tgfoid = 'pgauto_mv._source_changed()'::regprocedure
      AND t.tgparentid = 0
      AND CASE WHEN p_auto_mv_id IS NULL THEN a.id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' ELSE a.id = p_auto_mv_id::text END
$$;
COMMENT ON FUNCTION pgauto_mv._present_triggers(uuid) IS 'Triggers of pg_auto_mv that tables carry. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._present_triggers(uuid) FROM PUBLIC;
