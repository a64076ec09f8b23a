-- Purpose: a view that reads another materialised view follows it in the chain, if that one is registered; if not, a NOTICE says what to do.
-- Parameters: p_parent  OID of the view that is read; p_child_id
-- Raises: PM003 the chain would go round in a circle
-- Writes: mv_chain
CREATE FUNCTION pgauto_mv._follow_parent(p_parent oid, p_child_id uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_parent uuid := (SELECT v.auto_mv_id FROM pgauto_mv.mv_state_v AS v WHERE v.mv_oid = p_parent LIMIT 1);
BEGIN
    IF v_parent IS NULL THEN
        RAISE NOTICE USING MESSAGE = format('materialised view %s is read and not registered', p_parent::regclass),
            HINT = 'Register it, and this one follows it; or give this one a schedule.';
        RETURN;
    END IF;
    PERFORM pgauto_mv._link(v_parent, p_child_id, false);
END
$$;
COMMENT ON FUNCTION pgauto_mv._follow_parent(oid, uuid) IS 'Chains a view to one that it reads. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._follow_parent(oid, uuid) FROM PUBLIC;
