-- Purpose: the trigger on every source. The first change of a transaction inserts the event row and a dispatch; later ones find the mark of the
--          first and return. Inserts only, so that no writer waits for another; whatever fails here becomes a WARNING, so that no writer fails.
--          A dispatch that was deferred to the time the view is due serves this change as well, and most writers of a busy table find one. They
--          tell the dispatches by a shared lock: none ends the row of dispatches while it cannot see what they have inserted (_leave).
-- Parameters: TG_ARGV[0]  auto_mv_id
-- Reads: mv_state   Writes: mv_events, mv_truncate_signals, pgrelay.queue
CREATE FUNCTION pgauto_mv._source_changed()
RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id     uuid := TG_ARGV[0];
    -- A setting is rolled back with the savepoint in which it was made, as the event row is. The id of the transaction keeps a
    -- value that a session has set for itself from being taken for a mark.
    v_mark   text := 'pgauto_mv.changed_' || replace(TG_ARGV[0], '-', '');
    v_xid    text := pg_current_xact_id()::text;
    v_served boolean;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        PERFORM pgauto_mv._signal_truncate(v_id, TG_TABLE_SCHEMA, TG_TABLE_NAME);
    END IF;
    IF current_setting(v_mark, true) = v_xid THEN
        RETURN NULL;
    END IF;
    PERFORM set_config(v_mark, v_xid, true);
    -- An older snapshot could show a dispatch that is long over. So could a dispatch that was lost: one that is late is not relied on.
    IF current_setting('transaction_isolation') = 'read committed' AND pg_try_advisory_xact_lock_shared(pgauto_mv._lock_key(v_id, 'deferral')) THEN
        SELECT s.deferred_until > clock_timestamp() - interval '5 seconds' INTO v_served FROM pgauto_mv.mv_state AS s WHERE s.auto_mv_id = v_id;
    END IF;
    BEGIN
        INSERT INTO pgauto_mv.mv_events (auto_mv_id) VALUES (v_id);
        IF v_served IS NOT TRUE THEN
            PERFORM pgauto_mv._announce_change(TG_ARGV[0]);
        END IF;
    EXCEPTION WHEN OTHERS THEN
        PERFORM pgauto_mv._keep_event(v_id, SQLSTATE, SQLERRM);
    END;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION pgauto_mv._source_changed() IS 'Trigger on sources: records the change and enqueues a dispatch. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._source_changed() FROM PUBLIC;
