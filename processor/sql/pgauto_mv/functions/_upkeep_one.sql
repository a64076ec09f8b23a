-- Purpose: the upkeep of one view; what fails is a WARNING, so that one view holds up no other.
-- Parameters: p_state
-- Writes: mv_state, mv_events, mv_sources, mv_refresh_log, pgrelay.queue
CREATE FUNCTION pgauto_mv._upkeep_one(p_state pgauto_mv.mv_state_v)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $$
BEGIN
    IF NOT p_state.mv_missing THEN
        PERFORM pgauto_mv._follow_structure(p_state);
    END IF;
    IF pgauto_mv._dispatch_is_lost(p_state.auto_mv_id) THEN
        PERFORM pgauto_mv._replace_lost_dispatch(p_state.auto_mv_id);
    ELSIF p_state.next_scheduled_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM pgrelay.queue AS q WHERE q.id = p_state.scheduled_queue_id AND q.status = 'pending'
    ) THEN
        -- The event of a slot was removed, or has just been served by a dispatch that is not visible yet: the row is free then, and the slot another.
        PERFORM FROM pgauto_mv.mv_state AS s
        WHERE s.auto_mv_id = p_state.auto_mv_id AND s.scheduled_queue_id IS NOT DISTINCT FROM p_state.scheduled_queue_id
        FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            PERFORM pgauto_mv._queue_slot(p_state.auto_mv_id, p_state.next_scheduled_at);
        END IF;
    END IF;
    IF p_state.pending_events > 1000 THEN
        PERFORM FROM pgauto_mv.mv_state AS s WHERE s.auto_mv_id = p_state.auto_mv_id FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            PERFORM pgauto_mv._thin_events(p_state.auto_mv_id);
        END IF;
    END IF;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING USING ERRCODE = 'PM010',
        MESSAGE = format('the upkeep of materialised view %I.%I failed', p_state.mv_schema, p_state.mv_name),
        DETAIL = format('%s: %s', SQLSTATE, SQLERRM),
        HINT = 'It is tried again in a minute. SELECT pgauto_mv.reconcile() repairs at once, or tells what is in the way.';
END
$$;
COMMENT ON FUNCTION pgauto_mv._upkeep_one(pgauto_mv.mv_state_v) IS 'Upkeep of one view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._upkeep_one(pgauto_mv.mv_state_v) FROM PUBLIC;
