-- Purpose: views that read a view and were registered before it follow it from now on, as they would have if it had been there first.
-- Parameters: p_parent_id, p_parent  its registration and OID
-- Raises: PM003 the chain would go round in a circle
-- Writes: mv_chain
CREATE FUNCTION pgauto_mv._adopt_children(p_parent_id uuid, p_parent oid)
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pgauto_mv._link(p_parent_id, v.auto_mv_id, false)
    FROM pgauto_mv.mv_state_v AS v
    JOIN pgauto_mv.materialised_views AS m ON m.auto_mv_id = v.auto_mv_id AND m.derive_sources
    WHERE p_parent IN (SELECT pgauto_mv._derive_sources(v.mv_oid))
$$;
COMMENT ON FUNCTION pgauto_mv._adopt_children(uuid, oid) IS 'Chains views that read a view and were registered before it. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._adopt_children(uuid, oid) FROM PUBLIC;
