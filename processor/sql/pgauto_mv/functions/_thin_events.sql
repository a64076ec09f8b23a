-- Purpose: a view that waits while its sources are busy keeps few event rows: the first and the last, from which all times follow. A refresh that
--          covers one of them covers what lies between. Called by the dispatch that holds the view.
-- Parameters: p_auto_mv_id
-- Writes: mv_events
CREATE FUNCTION pgauto_mv._thin_events(p_auto_mv_id uuid)
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    -- Once, not for each row: statistics of this table are seldom right.
    WITH ends AS MATERIALIZED (
        SELECT min(e.event_at) AS first_event_at, max(e.event_at) AS latest_event_at
        FROM pgauto_mv.mv_events AS e
        WHERE e.auto_mv_id = p_auto_mv_id
    )
    DELETE FROM pgauto_mv.mv_events AS e
    USING ends AS n
    WHERE e.auto_mv_id = p_auto_mv_id
      AND e.source = 'event'
      AND e.event_at > n.first_event_at
      AND e.event_at < n.latest_event_at
$$;
COMMENT ON FUNCTION pgauto_mv._thin_events(uuid) IS 'Removes event rows between the first and the last of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._thin_events(uuid) FROM PUBLIC;
