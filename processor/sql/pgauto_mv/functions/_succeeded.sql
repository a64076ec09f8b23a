-- Purpose: the bookkeeping of a success. Exactly the events that were read before it are covered; others that have come stay pending.
-- Parameters: p_log  the attempt; p_events  the event rows read before it
-- Writes: mv_events, mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv._succeeded(p_log pgauto_mv.mv_refresh_log, p_events bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sync boolean;
BEGIN
    SELECT m.sync_after_refresh AND (
        p_log.refresh_source = 'schedule'
        OR EXISTS (SELECT FROM pgauto_mv.mv_events AS e
                   WHERE e.auto_mv_id = p_log.auto_mv_id AND e.event_id = ANY (p_events) AND e.source <> 'sync')
    )
    INTO v_sync
    FROM pgauto_mv.materialised_views AS m
    WHERE m.auto_mv_id = p_log.auto_mv_id;
    DELETE FROM pgauto_mv.mv_events AS e WHERE e.auto_mv_id = p_log.auto_mv_id AND e.event_id = ANY (p_events);
    UPDATE pgauto_mv.mv_state AS s
    SET last_refresh_completed = p_log.completed_at,
        data_as_of = p_log.data_as_of,
        consecutive_failures = 0,
        failing_since = NULL,
        last_error = NULL,
        retry_at = NULL,
        suspended_at = NULL
    WHERE s.auto_mv_id = p_log.auto_mv_id;
    IF v_sync THEN
        PERFORM pgrelay.notify('pg_auto_mv.sync_mv', p_log.auto_mv_id::text);
    END IF;
    PERFORM pgauto_mv._leave(p_log.auto_mv_id);
END
$$;
COMMENT ON FUNCTION pgauto_mv._succeeded(pgauto_mv.mv_refresh_log, bigint[]) IS 'Bookkeeping of a refresh that succeeded. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._succeeded(pgauto_mv.mv_refresh_log, bigint[]) FROM PUBLIC;
