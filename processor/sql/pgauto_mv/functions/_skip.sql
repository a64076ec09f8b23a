-- Purpose: what a skipped dispatch leaves behind. The slot of an inactive view is killed and its schedule stands still, so that it does not
--          collect skip rows; any other slot is passed over. What is pending gets its next dispatch, except where nothing would come of it
--          before somebody acts: update() and resume() dispatch. A missing view may be made anew, with contents from before a change that
--          is pending, and nobody would tell: it is looked for every minute.
-- Parameters: p_state; p_source  for the log; p_reason
-- Writes: mv_refresh_log, mv_events, mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv._skip(p_state pgauto_mv.mv_state_v, p_source text, p_reason text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgauto_mv._log_skip(p_state, p_source, p_reason);
    PERFORM pgauto_mv._thin_events(p_state.auto_mv_id);
    IF p_source = 'schedule' AND p_reason = 'inactive' THEN
        PERFORM pgauto_mv._queue_slot(p_state.auto_mv_id, NULL);
    ELSIF p_source = 'schedule' THEN
        PERFORM pgauto_mv._advance_schedule(p_state.auto_mv_id);
    END IF;
    IF p_reason NOT IN ('inactive', 'suspended') THEN
        PERFORM pgauto_mv._leave(
            p_state.auto_mv_id,
            clock_timestamp()
                + CASE WHEN p_reason IN ('mv_missing', 'no_unique_index') THEN interval '1 minute' ELSE interval '1 second' END
        );
    END IF;
END
$$;
COMMENT ON FUNCTION pgauto_mv._skip(pgauto_mv.mv_state_v, text, text) IS 'Logs a skipped dispatch and leaves the next one behind. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._skip(pgauto_mv.mv_state_v, text, text) FROM PUBLIC;
