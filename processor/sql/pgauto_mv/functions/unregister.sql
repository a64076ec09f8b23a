-- Purpose: leave a view to itself again. Its log stays until it is pruned by hand.
-- Parameters: p_mv
-- Raises: PM001 not registered, 55P03 the view or a source stays locked for over five seconds
-- Writes: see _forget()
CREATE FUNCTION pgauto_mv.unregister(p_mv regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgauto_mv._forget(pgauto_mv._mv_for_call(p_mv));
END
$$;
COMMENT ON FUNCTION pgauto_mv.unregister(regclass) IS 'Removes the registration of a view and its triggers. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.unregister(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.unregister(regclass) TO pgauto_mv_admin;
