-- Purpose: the event for the next slot of a view takes the place of the one there was. That one may be the twin that serves a deferral, on which a writer
--          relies who has not committed and cannot be seen, so a plain dispatch follows every kill. The event that is running itself is not
--          killed: it ends as done.
-- Parameters: p_auto_mv_id; p_slot  NULL: there is no next slot
-- Raises: 55P03 when a refresh holds the state for over five seconds
-- Writes: mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv._queue_slot(p_auto_mv_id uuid, p_slot timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
DECLARE
    -- Set by the Processor for the transaction of an action.
    v_running text := coalesce(current_setting('pgrelay.event_id', true), '');
    v_old     bigint;
    v_new     bigint;
BEGIN
    SELECT s.scheduled_queue_id INTO v_old FROM pgauto_mv.mv_state AS s WHERE s.auto_mv_id = p_auto_mv_id FOR UPDATE;
    IF p_slot IS NOT NULL THEN
        v_new := pgrelay.notify('pg_auto_mv.refresh_materialised_view', p_auto_mv_id::text, run_at => p_slot);
    END IF;
    INSERT INTO pgauto_mv.mv_state AS s (auto_mv_id, next_scheduled_at, scheduled_queue_id)
    VALUES (p_auto_mv_id, p_slot, v_new)
    ON CONFLICT (auto_mv_id) DO UPDATE
    SET next_scheduled_at = excluded.next_scheduled_at, scheduled_queue_id = excluded.scheduled_queue_id;
    IF v_old IS NOT NULL AND v_old::text <> v_running AND pgrelay.kill(v_old) THEN
        PERFORM pgauto_mv._send(p_auto_mv_id);
    END IF;
END
$$;
COMMENT ON FUNCTION pgauto_mv._queue_slot(uuid, timestamptz) IS 'Replaces the event for the next slot of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._queue_slot(uuid, timestamptz) FROM PUBLIC;
