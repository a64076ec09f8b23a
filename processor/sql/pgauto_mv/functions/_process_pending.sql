-- Purpose: the action of the channel pg_auto_mv.refresh_materialised_view: refreshes a view, or sees to it that it is refreshed when it is due.
-- Parameters: p_auto_mv_id; p_execute_chained_mv  whether the children of the view follow
-- Raises: nothing: whatever goes wrong is logged, and tried again
-- Reads, writes: see _dispatch()
CREATE FUNCTION pgauto_mv._process_pending(p_auto_mv_id uuid, p_execute_chained_mv boolean DEFAULT true)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Step 0: a physical standby gets the refreshed view with the WAL.
    IF pg_is_in_recovery() THEN
        RETURN;
    END IF;
    PERFORM pgauto_mv._dispatch(p_auto_mv_id, coalesce(p_execute_chained_mv, true));
-- OTHERS leaves out cancels, timeouts of the statement among them, and failed assertions.
EXCEPTION WHEN query_canceled OR assert_failure OR OTHERS THEN
    PERFORM pgauto_mv._record_breakdown(p_auto_mv_id, SQLSTATE, SQLERRM);
END
$$;
COMMENT ON FUNCTION pgauto_mv._process_pending(uuid, boolean) IS 'Action of pg_auto_mv.refresh_materialised_view: refreshes a view when it is due. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._process_pending(uuid, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._process_pending(uuid, boolean) TO pgrelay_processor;
