-- Purpose: have a view refreshed after another one. A view may have several children and several parents; below a diamond it is refreshed once.
-- Parameters: p_parent, p_child; p_refresh_on_error  also when the refresh of the parent failed
-- Raises: PM001 not registered, PM003 the chain would go round in a circle
-- Writes: mv_chain
CREATE FUNCTION pgauto_mv.chain(p_parent regclass, p_child regclass, p_refresh_on_error boolean DEFAULT false)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgauto_mv._link(pgauto_mv._mv_for_call(p_parent), pgauto_mv._mv_for_call(p_child), coalesce(p_refresh_on_error, false));
END
$$;
COMMENT ON FUNCTION pgauto_mv.chain(regclass, regclass, boolean) IS 'Has a view refreshed after another one. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.chain(regclass, regclass, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.chain(regclass, regclass, boolean) TO pgauto_mv_admin;
