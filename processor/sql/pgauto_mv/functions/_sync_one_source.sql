-- Purpose: a source that has come to a view (a new partition, a table in a changed definition) gets its triggers, one that has left it loses them. One table a
--          transaction: writers wait behind its lock for as long as that takes, and no view is refreshed meanwhile. A locked one is left for the next time.
-- Returns: true when one was written, so that there may be more to do
-- Raises: nothing: what cannot be written is shown by health, and reconcile() tells why
-- Writes: triggers; mv_events, pgrelay.queue
CREATE FUNCTION pgauto_mv._sync_one_source()
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_until timestamptz := clock_timestamp() + interval '2 seconds';
    v_id    uuid;
BEGIN
    FOR v_id IN SELECT m.auto_mv_id FROM pgauto_mv.materialised_views AS m WHERE m.is_active ORDER BY m.auto_mv_id LOOP
        BEGIN
            IF pgauto_mv._sync_triggers(v_id, p_gently => true) > 0 THEN
                -- What it would have told is not known.
                INSERT INTO pgauto_mv.mv_events (auto_mv_id) VALUES (v_id);
                PERFORM pgauto_mv._send(v_id);
                RETURN true;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            EXIT WHEN clock_timestamp() > v_until;
        END;
    END LOOP;
    RETURN false;
END
$$;
COMMENT ON FUNCTION pgauto_mv._sync_one_source() IS 'Puts the triggers of one source right. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._sync_one_source() FROM PUBLIC;
