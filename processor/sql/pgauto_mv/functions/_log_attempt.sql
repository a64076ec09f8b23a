-- Purpose: the log row of an attempt.
-- Parameters: p_log  all but its identity and times of logging
-- Writes: mv_refresh_log
CREATE FUNCTION pgauto_mv._log_attempt(p_log pgauto_mv.mv_refresh_log)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO pgauto_mv.mv_refresh_log (auto_mv_id, mv_schema, mv_name, refresh_source, success, concurrent, note, error_message, sqlstate,
        started_at, data_as_of, completed_at, elapsed_ms, events)
    VALUES (
        p_log.auto_mv_id,
        p_log.mv_schema,
        p_log.mv_name,
        p_log.refresh_source,
        p_log.success,
        p_log.concurrent,
        p_log.note,
        p_log.error_message,
        p_log.sqlstate,
        p_log.started_at,
        CASE WHEN p_log.success THEN p_log.data_as_of END,
        p_log.completed_at,
        -- The clock may have been set back meanwhile.
        greatest(extract(epoch FROM p_log.completed_at - p_log.started_at) * 1000, 0),
        p_log.events
    );
END
$$;
COMMENT ON FUNCTION pgauto_mv._log_attempt(pgauto_mv.mv_refresh_log) IS 'Logs an attempt. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._log_attempt(pgauto_mv.mv_refresh_log) FROM PUBLIC;
