-- Purpose: steps 1 to 8 of a dispatch: whether, when and how the view is refreshed. May raise; _process_pending() catches. No row is waited for
--          longer than five seconds, and the view itself as long as its settings say.
-- Parameters: p_auto_mv_id; p_execute_chained_mv  whether children follow
-- Reads: mv_state_v   Writes: whatever the steps write
CREATE FUNCTION pgauto_mv._dispatch(p_auto_mv_id uuid, p_execute_chained_mv boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
DECLARE
    v_state     pgauto_mv.mv_state_v;
    v_scheduled boolean;
    v_source    text;
    v_reason    text;
BEGIN
    -- Step 1: one dispatch of a view at a time.
    IF NOT pgauto_mv._begin_flight(p_auto_mv_id) THEN
        RETURN;
    END IF;
    -- Step 2: the computed state.
    SELECT v.* INTO v_state FROM pgauto_mv.mv_state_v AS v WHERE v.auto_mv_id = p_auto_mv_id;
    -- Step 3: what it is. A slot that is due names the source, whatever else is pending.
    v_scheduled := coalesce(v_state.next_scheduled_at <= clock_timestamp(), false);
    IF NOT v_scheduled AND NOT v_state.is_pending THEN
        PERFORM pgauto_mv._leave(p_auto_mv_id);
        RETURN;
    END IF;
    v_source := CASE WHEN v_scheduled THEN 'schedule' ELSE v_state.refresh_source END;
    -- Step 4: too early for an event, which waits for no slot.
    IF NOT v_scheduled AND clock_timestamp() < v_state.refresh_due_at THEN
        PERFORM pgauto_mv._thin_events(p_auto_mv_id);
        PERFORM pgauto_mv._leave(p_auto_mv_id);
        RETURN;
    END IF;
    -- Steps 5 and 6: what forbids a refresh.
    v_reason := pgauto_mv._skip_reason(v_state, v_scheduled);
    IF v_reason IS NOT NULL THEN
        PERFORM pgauto_mv._skip(v_state, v_source, v_reason);
        RETURN;
    END IF;
    IF v_source = 'chain' AND pgauto_mv._waits_for_ancestor(v_state) THEN
        PERFORM pgauto_mv._leave(p_auto_mv_id, clock_timestamp() + interval '5 seconds');
        RETURN;
    END IF;
    -- Step 7: the mark of a refresh in progress. The lock is what others can see before the commit.
    IF NOT pg_try_advisory_xact_lock(pgauto_mv._lock_key(p_auto_mv_id, 'refresh')) THEN
        PERFORM pgauto_mv._send(p_auto_mv_id, clock_timestamp() + interval '1 second');
        RETURN;
    END IF;
    UPDATE pgauto_mv.mv_state AS s SET last_refresh_started = clock_timestamp() WHERE s.auto_mv_id = p_auto_mv_id;
    -- Step 8: the name it has now.
    PERFORM pgauto_mv._bind(v_state);
    -- Steps 8b and 9.
    PERFORM pgauto_mv._attempt(v_state, v_source, p_execute_chained_mv);
END
$$;
COMMENT ON FUNCTION pgauto_mv._dispatch(uuid, boolean) IS 'Decides whether, when and how a view is refreshed. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._dispatch(uuid, boolean) FROM PUBLIC;
