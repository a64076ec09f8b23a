-- Purpose: take a link out of the chain.
-- Parameters: p_parent, p_child
-- Raises: PM001 not registered, or not chained
-- Writes: mv_chain
CREATE FUNCTION pgauto_mv.unchain(p_parent regclass, p_child regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM pgauto_mv.mv_chain AS c
    WHERE (c.parent_id, c.child_id) = (pgauto_mv._mv_for_call(p_parent), pgauto_mv._mv_for_call(p_child));
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PM001', MESSAGE = format('%s is not chained to %s', p_child, p_parent),
            HINT = 'pgauto_mv.mv_chain lists the links there are.';
    END IF;
END
$$;
COMMENT ON FUNCTION pgauto_mv.unchain(regclass, regclass) IS 'Takes a link out of the chain. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.unchain(regclass, regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.unchain(regclass, regclass) TO pgauto_mv_admin;
