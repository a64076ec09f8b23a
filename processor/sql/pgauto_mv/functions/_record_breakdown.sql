-- Purpose: a dispatch broke down outside its refresh and was rolled back: log it and try again 60 s later. Never raises; each part is on its own, so
--          that a damaged log does not cost the retry.
-- Parameters: p_auto_mv_id; p_sqlstate, p_message  what went wrong
-- Writes: mv_refresh_log, mv_state, pgrelay.queue
CREATE FUNCTION pgauto_mv._record_breakdown(p_auto_mv_id uuid, p_sqlstate text, p_message text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE WARNING USING ERRCODE = 'PM010',
        MESSAGE = format('a dispatch of materialised view %s broke down and is repeated in a minute', p_auto_mv_id),
        DETAIL = format('%s: %s', p_sqlstate, p_message);
    BEGIN
        PERFORM pgauto_mv._send(p_auto_mv_id, clock_timestamp() + interval '1 minute');
    EXCEPTION WHEN query_canceled OR assert_failure OR OTHERS THEN
        RAISE WARNING USING ERRCODE = 'PM010',
            MESSAGE = format('materialised view %s has no dispatch until its next change or reconcile()', p_auto_mv_id),
            DETAIL = format('%s: %s', SQLSTATE, SQLERRM);
    END;
    BEGIN
        INSERT INTO pgauto_mv.mv_refresh_log (auto_mv_id, mv_schema, mv_name, refresh_source, success, error_message, sqlstate)
        SELECT m.auto_mv_id, m.mv_schema, m.mv_name, 'event', false, p_message, p_sqlstate
        FROM pgauto_mv.materialised_views AS m
        WHERE m.auto_mv_id = p_auto_mv_id;
        UPDATE pgauto_mv.mv_state AS s
        -- Of a view that is not pending it would stay, and the next change would not wait for its lag.
        SET retry_at = CASE WHEN EXISTS (SELECT FROM pgauto_mv.mv_events AS e WHERE e.auto_mv_id = p_auto_mv_id)
                            THEN clock_timestamp() + interval '1 minute' END,
            deferred_until = NULL,
            failing_since = coalesce(s.failing_since, clock_timestamp()),
            last_error = p_message
        WHERE s.auto_mv_id = (
            SELECT l.auto_mv_id FROM pgauto_mv.mv_state AS l WHERE l.auto_mv_id = p_auto_mv_id FOR UPDATE SKIP LOCKED
        );
    EXCEPTION WHEN query_canceled OR assert_failure OR OTHERS THEN
        RAISE WARNING USING ERRCODE = 'PM010',
            MESSAGE = format('the breakdown was not logged for materialised view %s', p_auto_mv_id),
            DETAIL = format('%s: %s', SQLSTATE, SQLERRM);
    END;
END
$$;
COMMENT ON FUNCTION pgauto_mv._record_breakdown(uuid, text, text) IS 'Logs a dispatch that broke down and repeats it. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._record_breakdown(uuid, text, text) FROM PUBLIC;
