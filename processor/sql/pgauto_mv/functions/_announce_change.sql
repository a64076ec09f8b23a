-- Purpose: a dispatch at once, for a change. PREPARE TRANSACTION refuses a transaction with a NOTIFY, and an event for a little later sends none: where
--          transactions can be prepared, that is how a writer stays free to.
-- Parameters: p_payload  auto_mv_id
-- Writes: pgrelay.queue
CREATE FUNCTION pgauto_mv._announce_change(p_payload text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgrelay.notify(
        'pg_auto_mv.refresh_materialised_view',
        p_payload,
        run_at => CASE WHEN current_setting('max_prepared_transactions') = '0' THEN now()
                       ELSE clock_timestamp() + interval '50 milliseconds' END,
        p_deduplicate => true
    );
END
$$;
COMMENT ON FUNCTION pgauto_mv._announce_change(text) IS 'Enqueues the dispatch for a change. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._announce_change(text) FROM PUBLIC;
