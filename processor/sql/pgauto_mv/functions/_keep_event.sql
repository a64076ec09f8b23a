-- Purpose: the trigger's dispatch could not be enqueued. The event row is tried once more by itself: with it the view is shown as overdue, and
--          reconcile() dispatches it. The writer goes on.
-- Parameters: p_auto_mv_id; p_sqlstate, p_message  what went wrong
-- Writes: mv_events
CREATE FUNCTION pgauto_mv._keep_event(p_auto_mv_id uuid, p_sqlstate text, p_message text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE WARNING USING ERRCODE = 'PM010',
        MESSAGE = format('a change was not enqueued for the refresh of materialised view %s', p_auto_mv_id),
        DETAIL = format('%s: %s', p_sqlstate, p_message),
        HINT = 'Repair what failed, then SELECT pgauto_mv.reconcile().';
    INSERT INTO pgauto_mv.mv_events (auto_mv_id) VALUES (p_auto_mv_id);
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING USING ERRCODE = 'PM010',
        MESSAGE = format('a change was not recorded for the refresh of materialised view %s', p_auto_mv_id),
        DETAIL = format('%s: %s', SQLSTATE, SQLERRM),
        HINT = 'Repair what failed, then SELECT pgauto_mv.refresh(view).';
END
$$;
COMMENT ON FUNCTION pgauto_mv._keep_event(uuid, text, text) IS 'Keeps a change whose dispatch could not be enqueued. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._keep_event(uuid, text, text) FROM PUBLIC;
