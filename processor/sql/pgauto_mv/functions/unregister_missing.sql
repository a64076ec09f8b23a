-- Purpose: unregister a view that has been dropped, which has no name left to call it by.
-- Parameters: p_auto_mv_id  see pgauto_mv.health
-- Raises: PM001 not registered, PM004 the view is there
-- Writes: see _forget()
CREATE FUNCTION pgauto_mv.unregister_missing(p_auto_mv_id uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_state pgauto_mv.mv_state_v;
BEGIN
    SELECT v.* INTO v_state FROM pgauto_mv.mv_state_v AS v WHERE v.auto_mv_id = p_auto_mv_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PM001', MESSAGE = format('%s is not registered', coalesce(p_auto_mv_id::text, 'NULL')),
            HINT = 'Registered views are listed in pgauto_mv.mv_state_v.';
    END IF;
    IF NOT v_state.mv_missing THEN
        RAISE EXCEPTION USING ERRCODE = 'PM004', MESSAGE = format('%s is not missing', v_state.mv_oid::regclass),
            HINT = format('SELECT pgauto_mv.unregister(%L);', v_state.mv_oid::regclass);
    END IF;
    PERFORM pgauto_mv._forget(p_auto_mv_id);
END
$$;
COMMENT ON FUNCTION pgauto_mv.unregister_missing(uuid) IS 'Removes the registration of a view that has been dropped. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.unregister_missing(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.unregister_missing(uuid) TO pgauto_mv_admin;
