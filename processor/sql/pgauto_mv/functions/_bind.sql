-- Purpose: step 8, reconciliation of OID and name: a view that was renamed or moved keeps its registration, one that was created anew or restored
--          is bound again by its name.
-- Parameters: p_state  with the view's present OID and name
-- Writes: materialised_views, mv_state, each only where something changed
CREATE FUNCTION pgauto_mv._bind(p_state pgauto_mv.mv_state_v)
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE pgauto_mv.materialised_views AS m
    SET mv_schema = p_state.mv_schema, mv_name = p_state.mv_name
    WHERE m.auto_mv_id = p_state.auto_mv_id
      AND (m.mv_schema, m.mv_name) IS DISTINCT FROM (p_state.mv_schema, p_state.mv_name);
    UPDATE pgauto_mv.mv_state AS s
    SET mv_oid = p_state.mv_oid,
        bound_in = pgauto_mv._database_identity(),
        -- Of another database: there every definition has other OIDs in it, and nothing has changed.
        structure = CASE WHEN s.bound_in = pgauto_mv._database_identity() THEN s.structure END
    WHERE s.auto_mv_id = p_state.auto_mv_id
      AND (s.mv_oid, s.bound_in) IS DISTINCT FROM (p_state.mv_oid, pgauto_mv._database_identity());
$$;
COMMENT ON FUNCTION pgauto_mv._bind(pgauto_mv.mv_state_v) IS 'Writes down the present OID and name of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._bind(pgauto_mv.mv_state_v) FROM PUBLIC;
