-- Purpose: the trigger on every source. The first change of a transaction inserts the event row and a dispatch; later ones find the mark of the
--          first and return. Inserts only, so that no writer waits for another; whatever fails here becomes a WARNING, so that no writer fails.
--          A dispatch that was deferred to the time the view is due serves this change as well, and most writers of a busy table find one. They
--          tell the dispatches by a shared lock: none ends the row of dispatches while it cannot see what they have inserted (_leave).
--          Without SET search_path, which would double what a write costs: every name, operator and type is qualified instead.
-- Parameters: TG_ARGV[0]  auto_mv_id
--             TG_ARGV[1]  key of the lock that writers share, see _lock_key(); given, since working it out would cost every write a call
--             TG_ARGV[2]  name of the setting that is the mark
-- Reads: mv_state   Writes: mv_events, mv_truncate_signals, pgrelay.queue
CREATE FUNCTION pgauto_mv._source_changed()
RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
AS $$
DECLARE
    v_id     pg_catalog.uuid := TG_ARGV[0];
    -- The id of the transaction keeps a value that a session has set for itself from being taken for a mark.
    v_xid    pg_catalog.text := pg_catalog.pg_current_xact_id();
    v_served pg_catalog.bool;
BEGIN
    IF TG_OP OPERATOR(pg_catalog.=) 'TRUNCATE' THEN
        PERFORM pgauto_mv._signal_truncate(v_id, TG_TABLE_SCHEMA, TG_TABLE_NAME);
    END IF;
    IF pg_catalog.current_setting(TG_ARGV[2], true) OPERATOR(pg_catalog.=) v_xid THEN
        RETURN NULL;
    END IF;
    -- Rolled back with the writer's savepoint, as the event row is; not with the block below, or every row of a load would fail and warn again.
    PERFORM pg_catalog.set_config(TG_ARGV[2], v_xid, true);
    BEGIN
        -- An older snapshot could show a dispatch that is long over. So could a dispatch that was lost: one that is late is not relied on.
        IF pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.=) 'read committed'
           AND pg_catalog.pg_try_advisory_xact_lock_shared(TG_ARGV[1]::pg_catalog.int8) THEN
            SELECT s.deferred_until OPERATOR(pg_catalog.>) (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) '5 seconds'::pg_catalog.interval)
            INTO v_served
            FROM pgauto_mv.mv_state AS s
            WHERE s.auto_mv_id OPERATOR(pg_catalog.=) v_id;
        END IF;
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
-- PostgreSQL clones the trigger of a partitioned table to each new partition, and asks for EXECUTE on behalf of whoever creates that one. It stays with
-- PUBLIC for this: a trigger function cannot be called, and to name this one in a CREATE TRIGGER takes USAGE on the schema.
GRANT EXECUTE ON FUNCTION pgauto_mv._source_changed() TO PUBLIC;
