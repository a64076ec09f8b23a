-- Purpose: step 1, at most one dispatch of a view at a time. The loser leaves at once, but not without a dispatch for later: what it came for
--          may be younger than what the winner has read.
--          A dispatch by hand in a transaction with one snapshot leaves too: it could not see what has been committed since.
-- Parameters: p_auto_mv_id
-- Returns: true when the view is ours until the transaction ends
-- Reads: materialised_views   Writes: mv_state (row lock), mv_events (of a view that is no longer registered), pgrelay.queue
CREATE FUNCTION pgauto_mv._begin_flight(p_auto_mv_id uuid)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pgauto_mv.materialised_views AS m WHERE m.auto_mv_id = p_auto_mv_id) THEN
        DELETE FROM pgauto_mv.mv_events AS e WHERE e.auto_mv_id = p_auto_mv_id;
        RETURN false;
    END IF;
    IF NOT EXISTS (SELECT FROM pgauto_mv.mv_state AS s WHERE s.auto_mv_id = p_auto_mv_id) THEN
        -- The registration has come by replication.
        INSERT INTO pgauto_mv.mv_state (auto_mv_id) VALUES (p_auto_mv_id) ON CONFLICT (auto_mv_id) DO NOTHING;
    END IF;
    IF current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN
        PERFORM FROM pgauto_mv.mv_state AS s WHERE s.auto_mv_id = p_auto_mv_id FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            RETURN true;
        END IF;
    END IF;
    PERFORM pgauto_mv._send(p_auto_mv_id, clock_timestamp() + interval '1 second');
    RETURN false;
END
$$;
COMMENT ON FUNCTION pgauto_mv._begin_flight(uuid) IS 'Takes a view for one dispatch. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._begin_flight(uuid) FROM PUBLIC;
