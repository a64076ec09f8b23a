-- Purpose: a link of the chain, refused where it would close a cycle. Calls at the same time could each miss the other's link, so they take turns.
-- Parameters: p_parent_id, p_child_id; p_refresh_on_error
-- Raises: PM003 cycle
-- Writes: mv_chain
CREATE FUNCTION pgauto_mv._link(p_parent_id uuid, p_child_id uuid, p_refresh_on_error boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
BEGIN
    LOCK TABLE pgauto_mv.mv_chain IN SHARE ROW EXCLUSIVE MODE;
    IF p_parent_id = p_child_id OR EXISTS (
        WITH RECURSIVE descendants AS (
            SELECT c.child_id AS id FROM pgauto_mv.mv_chain AS c WHERE c.parent_id = p_child_id
            UNION
            SELECT c.child_id FROM descendants AS d JOIN pgauto_mv.mv_chain AS c ON c.parent_id = d.id
        )
        SELECT FROM descendants AS d WHERE d.id = p_parent_id
    ) THEN
        RAISE EXCEPTION USING ERRCODE = 'PM003',
            MESSAGE = 'the chain would go round in a circle',
            DETAIL = format('parent = %s, child = %s', p_parent_id, p_child_id),
            HINT = 'pgauto_mv.mv_chain lists the links there are; unchain() removes one.';
    END IF;
    INSERT INTO pgauto_mv.mv_chain AS c (parent_id, child_id, refresh_on_error)
    VALUES (p_parent_id, p_child_id, p_refresh_on_error)
    ON CONFLICT (parent_id, child_id) DO UPDATE SET refresh_on_error = excluded.refresh_on_error;
END
$$;
COMMENT ON FUNCTION pgauto_mv._link(uuid, uuid, boolean) IS 'Makes a link of the chain. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._link(uuid, uuid, boolean) FROM PUBLIC;
