-- Purpose: remove all that is known of a view, and its triggers. Its pending dispatches find nothing and end.
-- Parameters: p_auto_mv_id
-- Raises: 55P03 when the view or a source stays locked for over five seconds
-- Writes: every table of pgauto_mv but the log; pgrelay.queue (the event of the next slot)
CREATE FUNCTION pgauto_mv._forget(p_auto_mv_id uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
BEGIN
    -- First of all what a dispatch holds until it ends, the row that all of them take first: the two would wait for each other otherwise.
    PERFORM pgauto_mv._queue_slot(p_auto_mv_id, NULL);
    DELETE FROM pgauto_mv.mv_events AS e WHERE e.auto_mv_id = p_auto_mv_id;
    DELETE FROM pgauto_mv.mv_truncate_signals AS t WHERE t.auto_mv_id = p_auto_mv_id;
    DELETE FROM pgauto_mv.mv_chain AS c WHERE p_auto_mv_id IN (c.parent_id, c.child_id);
    DELETE FROM pgauto_mv.mv_sources AS s WHERE s.auto_mv_id = p_auto_mv_id;
    DELETE FROM pgauto_mv.mv_state AS s WHERE s.auto_mv_id = p_auto_mv_id;
    DELETE FROM pgauto_mv.materialised_views AS m WHERE m.auto_mv_id = p_auto_mv_id;
    PERFORM pgauto_mv._sync_triggers(p_auto_mv_id);
END
$$;
COMMENT ON FUNCTION pgauto_mv._forget(uuid) IS 'Removes all that is known of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._forget(uuid) FROM PUBLIC;
