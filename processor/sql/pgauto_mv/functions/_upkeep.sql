-- Purpose: the action of the channel pg_auto_mv.upkeep, once a minute as long as a view is registered: what fires no trigger is noticed (partitions,
--          definitions), new sources get their triggers, a lost dispatch is replaced, events are thinned out and old rows removed.
-- Raises: only what keeps the next one from being enqueued; the queue tries again then
-- Reads, writes: see _upkeep_one(), _sync_one_source(), _prune()
CREATE FUNCTION pgauto_mv._upkeep()
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_state pgauto_mv.mv_state_v;
    v_next  interval := '1 minute';
BEGIN
    IF pg_is_in_recovery() OR NOT EXISTS (SELECT FROM pgauto_mv.materialised_views) THEN
        RETURN;
    END IF;
    BEGIN
        FOR v_state IN SELECT v.* FROM pgauto_mv.mv_state_v AS v WHERE NOT v.inactive ORDER BY v.auto_mv_id LOOP
            PERFORM pgauto_mv._upkeep_one(v_state);
        END LOOP;
        PERFORM pgauto_mv._prune();
        -- Last, since it leaves a source locked until the commit.
        IF pgauto_mv._sync_one_source() THEN
            v_next := '0';
        END IF;
    -- OTHERS leaves out cancels, timeouts of the statement among them, and failed assertions.
    EXCEPTION WHEN query_canceled OR assert_failure OR OTHERS THEN
        RAISE WARNING USING ERRCODE = 'PM010', MESSAGE = 'the upkeep of materialised views failed, and is tried again in a minute',
            DETAIL = format('%s: %s', SQLSTATE, SQLERRM);
    END;
    PERFORM pgauto_mv._send_upkeep(clock_timestamp() + v_next);
END
$$;
COMMENT ON FUNCTION pgauto_mv._upkeep() IS 'Action of pg_auto_mv.upkeep: notices what fires no trigger and replaces what was lost. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._upkeep() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._upkeep() TO pgrelay_processor;
