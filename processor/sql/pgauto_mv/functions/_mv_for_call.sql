-- Purpose: the registration of a view, or a clear error.
-- Parameters: p_mv
-- Returns: auto_mv_id
-- Raises: PM001 not registered
-- Reads: mv_state_v
CREATE FUNCTION pgauto_mv._mv_for_call(p_mv regclass)
RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id uuid := (SELECT v.auto_mv_id FROM pgauto_mv.mv_state_v AS v WHERE v.mv_oid = p_mv::oid LIMIT 1);
BEGIN
    IF v_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PM001',
            MESSAGE = format('%s is not registered', coalesce(p_mv::text, 'NULL')),
            DETAIL = 'Registered views are listed in pgauto_mv.mv_state_v.',
            HINT = 'Register it first: SELECT pgauto_mv.register(view).';
    END IF;
    RETURN v_id;
END
$$;
COMMENT ON FUNCTION pgauto_mv._mv_for_call(regclass) IS 'Registration of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._mv_for_call(regclass) FROM PUBLIC;
