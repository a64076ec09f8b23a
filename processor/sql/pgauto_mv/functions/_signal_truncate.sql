-- Purpose: note which source was emptied. A failure is a WARNING: what is owed is in the event row.
-- Parameters: p_auto_mv_id; p_schema, p_table  the source
-- Writes: mv_truncate_signals
CREATE FUNCTION pgauto_mv._signal_truncate(p_auto_mv_id uuid, p_schema text, p_table text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO pgauto_mv.mv_truncate_signals (auto_mv_id, source_schema, source_name) VALUES (p_auto_mv_id, p_schema, p_table);
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING USING ERRCODE = 'PM010',
        MESSAGE = format('the TRUNCATE of %I.%I was not noted for materialised view %s', p_schema, p_table, p_auto_mv_id),
        DETAIL = format('%s: %s', SQLSTATE, SQLERRM);
END
$$;
COMMENT ON FUNCTION pgauto_mv._signal_truncate(uuid, text, text) IS 'Notes which source was emptied. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._signal_truncate(uuid, text, text) FROM PUBLIC;
