-- Purpose: after a restore, on a new node, after changes of definitions, or whenever health says so: everything is put back as the registry wants it.
--          A view that cannot be repaired holds up no other. Running it again does nothing more.
-- Returns: a row for each view that needed something, or could not have it; auto_mv_id of a view that is no longer registered too
-- Writes: see _reconcile_one()
CREATE FUNCTION pgauto_mv.reconcile()
RETURNS TABLE (auto_mv_id uuid, result text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_id uuid;
BEGIN
    PERFORM pgauto_mv._ensure_channels();
    FOR v_id IN
        SELECT m.auto_mv_id FROM pgauto_mv.materialised_views AS m
        UNION
        SELECT t.auto_mv_id FROM pgauto_mv._present_triggers() AS t
        ORDER BY 1
    LOOP
        BEGIN
            IF EXISTS (SELECT FROM pgauto_mv.materialised_views AS m WHERE m.auto_mv_id = v_id) THEN
                result := pgauto_mv._reconcile_one(v_id);
            ELSE
                PERFORM pgauto_mv._forget(v_id);
                result := 'triggers of a view that is not registered removed';
            END IF;
        EXCEPTION WHEN OTHERS THEN
            result := format('failed: %s: %s', SQLSTATE, SQLERRM);
        END;
        IF result IS NOT NULL THEN
            auto_mv_id := v_id;
            RETURN NEXT;
        END IF;
    END LOOP;
    PERFORM pgauto_mv._send_upkeep();
END
$$;
COMMENT ON FUNCTION pgauto_mv.reconcile() IS 'Puts everything back as the registry wants it, and tells what it did. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.reconcile() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.reconcile() TO pgauto_mv_admin;
