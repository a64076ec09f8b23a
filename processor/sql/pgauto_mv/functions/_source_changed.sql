-- Purpose: the trigger on every source. The first change of a transaction inserts the event row and a dispatch; later ones find the mark of the
--          first and return. Inserts only, so that no writer waits for another; whatever fails here becomes a WARNING, so that no writer fails.
-- Parameters: TG_ARGV[0]  auto_mv_id
-- Writes: mv_events, mv_truncate_signals, pgrelay.queue
CREATE FUNCTION pgauto_mv._source_changed()
RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id   uuid := TG_ARGV[0];
    -- A setting is rolled back with the savepoint in which it was made, as the event row is. The id of the transaction keeps a
    -- value that a session has set for itself from being taken for a mark.
    v_mark text := 'pgauto_mv.changed_' || replace(TG_ARGV[0], '-', '');
    v_xid  text := pg_current_xact_id()::text;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        PERFORM pgauto_mv._signal_truncate(v_id, TG_TABLE_SCHEMA, TG_TABLE_NAME);
    END IF;
    IF current_setting(v_mark, true) = v_xid THEN
        RETURN NULL;
    END IF;
    PERFORM set_config(v_mark, v_xid, true);
    BEGIN
        INSERT INTO pgauto_mv.mv_events (auto_mv_id) VALUES (v_id);
        -- PREPARE TRANSACTION refuses a transaction with a NOTIFY, and an event for a little later sends none.
        PERFORM pgrelay.notify(
            'pg_auto_mv.refresh_materialised_view',
            TG_ARGV[0],
            run_at => CASE WHEN current_setting('max_prepared_transactions') = '0' THEN now()
                           ELSE clock_timestamp() + interval '50 milliseconds' END,
            p_deduplicate => true
        );
    EXCEPTION WHEN OTHERS THEN
        PERFORM pgauto_mv._keep_event(v_id, SQLSTATE, SQLERRM);
    END;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION pgauto_mv._source_changed() IS 'Trigger on sources: records the change and enqueues a dispatch. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._source_changed() FROM PUBLIC;
