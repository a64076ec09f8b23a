-- Purpose: one registration a view. Calls at the same time take turns, since nothing but this tells that a renamed view is the same.
-- Parameters: p_mv
-- Raises: PM002 registered already
-- Reads: mv_state_v, under an advisory lock
CREATE FUNCTION pgauto_mv._refuse_registered(p_mv regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id uuid;
BEGIN
    PERFORM pg_advisory_xact_lock(5283411);
    SELECT v.auto_mv_id INTO v_id FROM pgauto_mv.mv_state_v AS v WHERE v.mv_oid = p_mv::oid LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PM002',
            MESSAGE = format('%s is already registered', p_mv),
            DETAIL = format('auto_mv_id = %s', v_id),
            HINT = 'Change it with SELECT pgauto_mv.update(view, …).';
    END IF;
END
$$;
COMMENT ON FUNCTION pgauto_mv._refuse_registered(regclass) IS 'Refuses a second registration of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._refuse_registered(regclass) FROM PUBLIC;
