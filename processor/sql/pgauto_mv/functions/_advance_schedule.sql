-- Purpose: from the slot that was served, or that is to be left out, to the next one in the future: missed slots run once, and after a clock
--          that was set back none is served twice. A schedule that cannot be computed stops with a WARNING, health shows it, and the refresh that called stands.
-- Parameters: p_auto_mv_id
-- Reads: materialised_views, schedules   Writes: mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv._advance_schedule(p_auto_mv_id uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_last timestamptz;
    v_next timestamptz;
BEGIN
    UPDATE pgauto_mv.mv_state AS s
    SET last_scheduled_at = greatest(
            s.last_scheduled_at,
            CASE WHEN s.next_scheduled_at <= clock_timestamp() THEN s.next_scheduled_at END
        )
    WHERE s.auto_mv_id = p_auto_mv_id
    RETURNING s.last_scheduled_at INTO v_last;
    BEGIN
        SELECT pgauto_mv._next_slot(m.schedule_id, greatest(clock_timestamp(), v_last)) INTO v_next
        FROM pgauto_mv.materialised_views AS m
        WHERE m.auto_mv_id = p_auto_mv_id AND m.is_active;
    EXCEPTION WHEN OTHERS THEN
        RAISE WARNING USING ERRCODE = 'PM010',
            MESSAGE = format('the schedule of materialised view %s has stopped', p_auto_mv_id),
            DETAIL = format('%s: %s', SQLSTATE, SQLERRM),
            HINT = 'Repair or replace the schedule, then SELECT pgauto_mv.reconcile().';
    END;
    PERFORM pgauto_mv._queue_slot(p_auto_mv_id, v_next);
END
$$;
COMMENT ON FUNCTION pgauto_mv._advance_schedule(uuid) IS 'Moves the schedule of a view on to its next slot. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._advance_schedule(uuid) FROM PUBLIC;
