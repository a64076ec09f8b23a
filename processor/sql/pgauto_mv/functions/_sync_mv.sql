-- Purpose: the action of the channel pg_auto_mv.sync_mv: asks the other nodes for a refresh of theirs, with what made this one refresh.
-- Parameters: p_auto_mv_id
-- Reads: mv_refresh_log   Writes: mv_sync_requests
CREATE FUNCTION pgauto_mv._sync_mv(p_auto_mv_id uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RETURN;
    END IF;
    INSERT INTO pgauto_mv.mv_sync_requests (auto_mv_id, origin_node, cause)
    SELECT p_auto_mv_id, pgrelay.node_name(), l.refresh_source
    FROM pgauto_mv.mv_refresh_log AS l
    WHERE l.auto_mv_id = p_auto_mv_id AND l.success
    ORDER BY l.log_id DESC
    LIMIT 1;
END
$$;
COMMENT ON FUNCTION pgauto_mv._sync_mv(uuid) IS 'Action of pg_auto_mv.sync_mv: asks the other nodes for a refresh. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._sync_mv(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._sync_mv(uuid) TO pgrelay_processor;
