-- Purpose: steps 8b and 9: how it is refreshed, the refresh, and what comes of it. The events it will have covered are read before it begins: its
--          snapshot is taken later, so whatever they stand for is in it, and whatever is not read stays pending however long it waits for its lock.
-- Parameters: p_state; p_source  for the log; p_execute_chained_mv
-- Writes: mv_events, mv_truncate_signals, mv_state, mv_refresh_log, pgrelay.queue, the view
CREATE FUNCTION pgauto_mv._attempt(p_state pgauto_mv.mv_state_v, p_source text, p_execute_chained_mv boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_setting    pgauto_mv.materialised_views;
    v_log        pgauto_mv.mv_refresh_log;
    v_reason     text;
    v_concurrent boolean := p_state.concurrent AND p_state.ispopulated;
    v_events     bigint[];
    v_signals    bigint[];
BEGIN
    SELECT m.* INTO STRICT v_setting FROM pgauto_mv.materialised_views AS m WHERE m.auto_mv_id = p_state.auto_mv_id;
    IF v_concurrent THEN
        v_reason := pgauto_mv._no_concurrent_reason(p_state.mv_oid);
        IF v_reason IS NOT NULL AND v_setting.index_policy = 'skip' THEN
            PERFORM pgauto_mv._skip(p_state, p_source, 'no_unique_index');
            RETURN;
        END IF;
        v_concurrent := v_reason IS NULL OR v_setting.index_policy = 'error';
    END IF;
    IF p_state.pending_events > 1000 THEN
        PERFORM pgauto_mv._thin_events(p_state.auto_mv_id);
    END IF;
    v_events := ARRAY(SELECT e.event_id FROM pgauto_mv.mv_events AS e WHERE e.auto_mv_id = p_state.auto_mv_id);
    v_signals := ARRAY(SELECT t.signal_id FROM pgauto_mv.mv_truncate_signals AS t WHERE t.auto_mv_id = p_state.auto_mv_id);
    v_log.auto_mv_id := p_state.auto_mv_id;
    v_log.mv_schema := p_state.mv_schema;
    v_log.mv_name := p_state.mv_name;
    v_log.refresh_source := p_source;
    v_log.concurrent := v_concurrent;
    v_log.note := CASE WHEN v_concurrent OR NOT p_state.concurrent THEN NULL ELSE coalesce(v_reason, 'it is not populated') END;
    v_log.events := cardinality(v_events);
    v_log.data_as_of := clock_timestamp();
    v_log.started_at := v_log.data_as_of;
    BEGIN
        PERFORM pgauto_mv._refresh(p_state.mv_schema, p_state.mv_name, v_concurrent, v_setting.lock_timeout);
        v_log.success := true;
    -- OTHERS leaves out cancels, timeouts of the statement among them, and failed assertions.
    EXCEPTION WHEN query_canceled OR assert_failure OR OTHERS THEN
        v_log.success := false;
        v_log.sqlstate := SQLSTATE;
        v_log.error_message := SQLERRM;
    END;
    v_log.completed_at := clock_timestamp();
    DELETE FROM pgauto_mv.mv_truncate_signals AS t WHERE t.auto_mv_id = p_state.auto_mv_id AND t.signal_id = ANY (v_signals);
    IF v_log.success THEN
        PERFORM pgauto_mv._succeeded(v_log, v_events);
    ELSE
        PERFORM pgauto_mv._failed(v_log, v_setting);
    END IF;
    IF p_source = 'schedule' THEN
        PERFORM pgauto_mv._advance_schedule(p_state.auto_mv_id);
    END IF;
    IF p_execute_chained_mv THEN
        PERFORM pgauto_mv._send_children(p_state.auto_mv_id, v_log.success);
    END IF;
    PERFORM pgauto_mv._log_attempt(v_log);
    PERFORM pgauto_mv._send_upkeep();
END
$$;
COMMENT ON FUNCTION pgauto_mv._attempt(pgauto_mv.mv_state_v, text, boolean) IS 'Refreshes a view and records what came of it. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._attempt(pgauto_mv.mv_state_v, text, boolean) FROM PUBLIC;
