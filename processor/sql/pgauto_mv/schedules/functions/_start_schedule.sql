-- Purpose: queue the next slot of a view's schedule in place of what was queued for it. An inactive view gets none: it keeps its schedule,
--          and the first slot is queued when it becomes active.
-- Parameters: p_auto_mv_id
-- Reads: pgauto_mv.materialised_views, pgauto_mv.mv_state, pgauto_mv.schedules
-- Writes: pgauto_mv.mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv._start_schedule(p_auto_mv_id uuid)
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pgauto_mv._queue_slot(
        v.auto_mv_id,
        -- After a slot that was served, whatever the clock says now: one that was set back serves nothing twice.
        CASE WHEN v.is_active THEN pgauto_mv._next_slot(v.schedule_id, greatest(clock_timestamp(), t.last_scheduled_at)) END
    )
    FROM pgauto_mv.materialised_views AS v
    LEFT JOIN pgauto_mv.mv_state AS t ON t.auto_mv_id = v.auto_mv_id
    WHERE v.auto_mv_id = p_auto_mv_id
$$;
COMMENT ON FUNCTION pgauto_mv._start_schedule(uuid) IS 'Queues the next slot of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._start_schedule(uuid) FROM PUBLIC;
