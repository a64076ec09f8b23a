-- Purpose: make the triggers on the sources of a view what they should be, and touch nothing that is right.
-- Parameters: p_auto_mv_id  of a view that is no longer registered: its triggers are removed
--             p_gently      as the upkeep wants it: one table, tried once, and what is there and wanted stays as it is
-- Returns: number of triggers created or removed
-- Raises: 55P03 when a table stays locked
-- Reads: _wrong_triggers()   Writes: triggers
CREATE FUNCTION pgauto_mv._sync_triggers(p_auto_mv_id uuid, p_gently boolean DEFAULT false)
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_until  timestamptz := clock_timestamp() + interval '5 seconds';
    v_tables oid[] := ARRAY(
        SELECT w.source
        FROM pgauto_mv._wrong_triggers(p_auto_mv_id, p_gently) AS w
        GROUP BY w.source
        -- What is missing comes before what is too much.
        ORDER BY bool_and(w.type IS NULL), w.source
        LIMIT CASE WHEN p_gently THEN 1 END
    );
BEGIN
    LOOP
        BEGIN
            RETURN pgauto_mv._write_triggers(p_auto_mv_id, v_tables, p_gently);
        EXCEPTION WHEN lock_not_available THEN
            IF p_gently OR clock_timestamp() > v_until THEN
                RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = 'a source stays locked', DETAIL = SQLERRM,
                    HINT = 'pg_locks shows who holds it. Try again when they have ended.';
            END IF;
        END;
        -- Its locks are gone: those who wait for them come first.
        PERFORM pg_sleep(0.02);
    END LOOP;
END
$$;
COMMENT ON FUNCTION pgauto_mv._sync_triggers(uuid, boolean) IS 'Makes the triggers on the sources of a view what they should be. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._sync_triggers(uuid, boolean) FROM PUBLIC;
