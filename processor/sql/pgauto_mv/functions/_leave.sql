-- Purpose: the end of a dispatch that holds the view. What is pending gets a dispatch at the time it is due, on which writers may rely from then on; while
--          some do who have not committed, so that what they have inserted cannot be seen, there is one every two seconds. With no such writer and
--          nothing pending none is left: the lock, kept until the commit, sends later writers to notify().
-- Parameters: p_auto_mv_id; p_not_before  earliest time of the dispatch
-- Reads: mv_state_v   Writes: mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv._leave(p_auto_mv_id uuid, p_not_before timestamptz DEFAULT pg_catalog.clock_timestamp())
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_alone boolean := pg_try_advisory_xact_lock(pgauto_mv._lock_key(p_auto_mv_id, 'deferral'));
    v_due   timestamptz;
BEGIN
    SELECT v.refresh_due_at INTO v_due FROM pgauto_mv.mv_state_v AS v WHERE v.auto_mv_id = p_auto_mv_id;
    IF v_due IS NULL AND NOT v_alone THEN
        v_due := clock_timestamp() + interval '2 seconds';
    END IF;
    v_due := CASE WHEN v_due IS NOT NULL THEN greatest(v_due, p_not_before) END;
    UPDATE pgauto_mv.mv_state AS s
    SET deferred_until = v_due
    WHERE s.auto_mv_id = p_auto_mv_id AND s.deferred_until IS DISTINCT FROM v_due;
    IF v_due IS NOT NULL THEN
        PERFORM pgauto_mv._send(p_auto_mv_id, v_due);
    END IF;
END
$$;
COMMENT ON FUNCTION pgauto_mv._leave(uuid, timestamptz) IS 'Ends a dispatch and leaves the next one behind where it is needed. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._leave(uuid, timestamptz) FROM PUBLIC;
