-- Purpose: refresh a view as soon as this is committed, in a transaction of its own. It waits for neither the lag nor a retry, but for the cooldown.
-- Parameters: p_mv
-- Raises: PM001 not registered
-- Writes: mv_events, pgrelay.queue
CREATE FUNCTION pgauto_mv.refresh(p_mv regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id uuid := pgauto_mv._mv_for_call(p_mv);
BEGIN
    INSERT INTO pgauto_mv.mv_events (auto_mv_id, source) VALUES (v_id, 'direct');
    PERFORM pgauto_mv._send(v_id);
END
$$;
COMMENT ON FUNCTION pgauto_mv.refresh(regclass) IS 'Has a view refreshed as soon as this is committed. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.refresh(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.refresh(regclass) TO pgauto_mv_admin;
