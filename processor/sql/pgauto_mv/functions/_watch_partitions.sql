-- Purpose: views over partitioned tables are looked at once a minute. Where a partition has come or gone the view is pending, and new partitions get
--          their TRUNCATE trigger. What fails (a table is locked) is tried again with the next look.
-- Parameters: p_auto_mv_id
-- Writes: mv_state, mv_events, pgrelay.queue; triggers on partitions
CREATE FUNCTION pgauto_mv._watch_partitions(p_auto_mv_id uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now    text;
    v_before text;
BEGIN
    SELECT s.partitions INTO v_before
    FROM pgauto_mv.mv_state AS s
    JOIN pgauto_mv.materialised_views AS m ON m.auto_mv_id = s.auto_mv_id AND m.is_active
    WHERE s.auto_mv_id = p_auto_mv_id;
    IF v_before IS NULL THEN
        RETURN;
    END IF;
    v_now := pgauto_mv._partitions(p_auto_mv_id);
    IF v_now IS DISTINCT FROM v_before THEN
        INSERT INTO pgauto_mv.mv_events (auto_mv_id) VALUES (p_auto_mv_id);
        UPDATE pgauto_mv.mv_state AS s SET partitions = v_now WHERE s.auto_mv_id = p_auto_mv_id;
        BEGIN
            PERFORM pgauto_mv._sync_triggers(p_auto_mv_id);
        EXCEPTION WHEN query_canceled OR assert_failure OR OTHERS THEN
            -- No fingerprint at all: the next look differs from it.
            UPDATE pgauto_mv.mv_state AS s SET partitions = '' WHERE s.auto_mv_id = p_auto_mv_id;
        END;
    END IF;
    PERFORM pgauto_mv._send(p_auto_mv_id, clock_timestamp() + interval '1 minute');
END
$$;
COMMENT ON FUNCTION pgauto_mv._watch_partitions(uuid) IS 'Notices partitions that have come or gone. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._watch_partitions(uuid) FROM PUBLIC;
