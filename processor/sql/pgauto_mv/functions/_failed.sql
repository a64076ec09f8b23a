-- Purpose: the bookkeeping of a failure: what was owed is owed still, as an event whatever it was before, and is tried again 60 s later, or
--          later where the view's settings let the delay grow. A cancel, a lock timeout and class 40 say nothing about the view and do not count.
-- Parameters: p_log  the attempt; p_setting  the registration
-- Writes: mv_events, mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv._failed(p_log pgauto_mv.mv_refresh_log, p_setting pgauto_mv.materialised_views)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_counts boolean := p_log.sqlstate NOT IN ('57014', '55P03') AND left(p_log.sqlstate, 2) <> '40';
    v_state  pgauto_mv.mv_state;
    v_delay  double precision;
BEGIN
    UPDATE pgauto_mv.mv_events AS e SET source = 'event' WHERE e.auto_mv_id = p_log.auto_mv_id AND e.source <> 'event';
    IF NOT EXISTS (SELECT FROM pgauto_mv.mv_events AS e WHERE e.auto_mv_id = p_log.auto_mv_id) THEN
        INSERT INTO pgauto_mv.mv_events (auto_mv_id) VALUES (p_log.auto_mv_id);
    END IF;
    UPDATE pgauto_mv.mv_state AS s
    SET last_refresh_started = NULL,
        consecutive_failures = s.consecutive_failures + v_counts::integer,
        failing_since = coalesce(s.failing_since, p_log.completed_at),
        last_error = p_log.error_message
    WHERE s.auto_mv_id = p_log.auto_mv_id
    RETURNING s.* INTO v_state;
    IF v_counts AND v_state.consecutive_failures >= p_setting.suspend_after AND p_setting.suspend_after > 0 THEN
        UPDATE pgauto_mv.mv_state AS s
        SET retry_at = NULL, suspended_at = coalesce(s.suspended_at, p_log.completed_at)
        WHERE s.auto_mv_id = p_log.auto_mv_id;
        RETURN;
    END IF;
    -- The exponent is bounded, and so is the power: 10 to the 15th is beyond any retry_max.
    v_delay := least(60 * p_setting.retry_growth ^ least(greatest(v_state.consecutive_failures - 1, 0), 15), p_setting.retry_max);
    UPDATE pgauto_mv.mv_state AS s
    SET retry_at = p_log.completed_at + v_delay * interval '1 second'
    WHERE s.auto_mv_id = p_log.auto_mv_id;
    PERFORM pgauto_mv._leave(p_log.auto_mv_id);
END
$$;
COMMENT ON FUNCTION pgauto_mv._failed(pgauto_mv.mv_refresh_log, pgauto_mv.materialised_views) IS 'Bookkeeping of a refresh that failed. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._failed(pgauto_mv.mv_refresh_log, pgauto_mv.materialised_views) FROM PUBLIC;
