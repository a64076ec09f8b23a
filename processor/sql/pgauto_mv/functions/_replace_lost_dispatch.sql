-- Purpose: a view whose dispatch was lost gets another one. What ended the sessions was most likely its refresh, so it counts as a failure: it is
--          logged, tried again after the delay of a failure, and suspends the view where its settings say so.
-- Parameters: p_auto_mv_id
-- Writes: mv_state, mv_events, mv_refresh_log, pgrelay.queue
CREATE FUNCTION pgauto_mv._replace_lost_dispatch(p_auto_mv_id uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_state   pgauto_mv.mv_state_v;
    v_setting pgauto_mv.materialised_views;
    v_log     pgauto_mv.mv_refresh_log;
BEGIN
    PERFORM FROM pgauto_mv.mv_state AS s WHERE s.auto_mv_id = p_auto_mv_id FOR UPDATE SKIP LOCKED;
    -- Asked again under the lock: a dispatch may have come to its end meanwhile.
    IF NOT FOUND OR NOT pgauto_mv._dispatch_is_lost(p_auto_mv_id) THEN
        RETURN;
    END IF;
    SELECT v.* INTO v_state FROM pgauto_mv.mv_state_v AS v WHERE v.auto_mv_id = p_auto_mv_id;
    IF v_state.mv_missing OR v_state.suspended THEN
        PERFORM pgauto_mv._send(p_auto_mv_id);
        RETURN;
    END IF;
    SELECT m.* INTO STRICT v_setting FROM pgauto_mv.materialised_views AS m WHERE m.auto_mv_id = p_auto_mv_id;
    v_log.auto_mv_id := p_auto_mv_id;
    v_log.mv_schema := v_state.mv_schema;
    v_log.mv_name := v_state.mv_name;
    v_log.refresh_source := CASE WHEN v_state.next_scheduled_at <= clock_timestamp() THEN 'schedule' ELSE v_state.refresh_source END;
    v_log.success := false;
    v_log.sqlstate := 'PM011';
    v_log.error_message := 'the dispatch was lost: the sessions that ran it ended, or its event was removed or could not be served';
    v_log.started_at := clock_timestamp();
    v_log.completed_at := v_log.started_at;
    PERFORM pgauto_mv._failed(v_log, v_setting);
    IF v_log.refresh_source = 'schedule' THEN
        PERFORM pgauto_mv._advance_schedule(p_auto_mv_id);
    END IF;
    PERFORM pgauto_mv._send_children(p_auto_mv_id, false);
    PERFORM pgauto_mv._log_attempt(v_log);
END
$$;
COMMENT ON FUNCTION pgauto_mv._replace_lost_dispatch(uuid) IS 'Gives a view whose dispatch was lost another one. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._replace_lost_dispatch(uuid) FROM PUBLIC;
