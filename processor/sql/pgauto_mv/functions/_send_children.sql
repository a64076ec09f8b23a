-- Purpose: what follows in the chain. Each child gets a chain event and a dispatch after a success, and after a failure where its link says so. A child that
--          is pending gets the dispatch in any case: it may have waited for this ancestor.
-- Parameters: p_parent_id; p_success
-- Reads: mv_chain   Writes: mv_events, pgrelay.queue
CREATE FUNCTION pgauto_mv._send_children(p_parent_id uuid, p_success boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- One wave has one time: a child that is below another one waits for it by that, see _waits_for_ancestor().
    v_at timestamptz := clock_timestamp();
BEGIN
    INSERT INTO pgauto_mv.mv_events (auto_mv_id, event_at, source)
    SELECT c.child_id, v_at, 'chain'
    FROM pgauto_mv.mv_chain AS c
    WHERE c.parent_id = p_parent_id AND (p_success OR c.refresh_on_error);
    PERFORM pgauto_mv._send(c.child_id)
    FROM pgauto_mv.mv_chain AS c
    WHERE c.parent_id = p_parent_id
      AND EXISTS (SELECT FROM pgauto_mv.mv_events AS e WHERE e.auto_mv_id = c.child_id);
END
$$;
COMMENT ON FUNCTION pgauto_mv._send_children(uuid, boolean) IS 'Enqueues the children of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._send_children(uuid, boolean) FROM PUBLIC;
