-- Purpose: log that a dispatch made no attempt. An event dispatch that meets what the one before it met adds nothing: a busy source would
--          fill the log of an inactive view.
-- Parameters: p_state; p_source  event, chain, direct or schedule; p_reason  see mv_refresh_log.skip_reason
-- Writes: mv_refresh_log
CREATE FUNCTION pgauto_mv._log_skip(p_state pgauto_mv.mv_state_v, p_source text, p_reason text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_before pgauto_mv.mv_refresh_log;
BEGIN
    SELECT l.* INTO v_before
    FROM pgauto_mv.mv_refresh_log AS l
    WHERE l.auto_mv_id = p_state.auto_mv_id
    ORDER BY l.log_id DESC
    LIMIT 1;
    IF p_source <> 'schedule' AND (v_before.skip_reason, v_before.refresh_source) = (p_reason, p_source) THEN
        RETURN;
    END IF;
    INSERT INTO pgauto_mv.mv_refresh_log (auto_mv_id, mv_schema, mv_name, refresh_source, skip_reason)
    VALUES (p_state.auto_mv_id, p_state.mv_schema, p_state.mv_name, p_source, p_reason);
END
$$;
COMMENT ON FUNCTION pgauto_mv._log_skip(pgauto_mv.mv_state_v, text, text) IS 'Logs that a dispatch made no attempt. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._log_skip(pgauto_mv.mv_state_v, text, text) FROM PUBLIC;
