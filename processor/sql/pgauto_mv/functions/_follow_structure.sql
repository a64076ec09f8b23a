-- Purpose: what a view reads has changed without a write: a partition came or went, a view in between or the view itself has another definition.
--          The view is pending then, and its sources are derived anew, but not on a node that gets them by replication: two nodes that write down
--          the same row stop each other's. A view on which nobody has looked yet is only looked at.
-- Parameters: p_state
-- Raises: nothing: sources that cannot be watched are a WARNING, and shown by health
-- Reads: pg_subscription_rel   Writes: materialised_views, mv_sources, mv_state, mv_events, pgrelay.queue
CREATE FUNCTION pgauto_mv._follow_structure(p_state pgauto_mv.mv_state_v)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now    text := pgauto_mv._structure(p_state.auto_mv_id, p_state.mv_oid);
    v_before text;
BEGIN
    -- Whoever refreshes it holds this row: the next look will do.
    PERFORM FROM pgauto_mv.mv_state AS s
    WHERE s.auto_mv_id = p_state.auto_mv_id AND s.structure IS DISTINCT FROM v_now
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- In a restored database this takes the fingerprint of the old one away.
    PERFORM pgauto_mv._bind(p_state);
    v_before := (SELECT s.structure FROM pgauto_mv.mv_state AS s WHERE s.auto_mv_id = p_state.auto_mv_id);
    UPDATE pgauto_mv.mv_state AS s SET structure = v_now WHERE s.auto_mv_id = p_state.auto_mv_id;
    IF v_before IS NULL THEN
        RETURN;
    END IF;
    BEGIN
        PERFORM pgauto_mv._set_sources(p_state.auto_mv_id, p_state.mv_oid, NULL, p_chain => false)
        FROM pgauto_mv.materialised_views AS m
        WHERE m.auto_mv_id = p_state.auto_mv_id
          AND m.derive_sources
          AND NOT EXISTS (SELECT FROM pg_subscription_rel AS r WHERE r.srrelid = 'pgauto_mv.mv_sources'::regclass);
    EXCEPTION WHEN OTHERS THEN
        RAISE WARNING USING ERRCODE = 'PM010',
            MESSAGE = format('the sources of materialised view %I.%I have changed, and not all of them can be watched', p_state.mv_schema, p_state.mv_name),
            DETAIL = format('%s: %s', SQLSTATE, SQLERRM),
            HINT = 'Name those that can with SELECT pgauto_mv.update(view, p_sources => …), and give the view a schedule.';
    END;
    INSERT INTO pgauto_mv.mv_events (auto_mv_id) VALUES (p_state.auto_mv_id);
    PERFORM pgauto_mv._send(p_state.auto_mv_id);
END
$$;
COMMENT ON FUNCTION pgauto_mv._follow_structure(pgauto_mv.mv_state_v) IS 'Notices that what a view reads has changed. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._follow_structure(pgauto_mv.mv_state_v) FROM PUBLIC;
