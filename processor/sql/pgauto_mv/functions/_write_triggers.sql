-- Purpose: put the triggers of some sources right. Whoever waits for one table while it holds another can make a writer the victim of a deadlock; so nobody
--          waits here for longer than a tenth of a second, far below any deadlock_timeout, and the caller lets go of all before it tries again.
-- Parameters: p_auto_mv_id; p_tables  OIDs of the tables; p_gently  what is there and wanted stays as it is
-- Returns: number of triggers created or removed
-- Raises: 55P03 when a table is locked
-- Reads: _wrong_triggers()   Writes: triggers
CREATE FUNCTION pgauto_mv._write_triggers(p_auto_mv_id uuid, p_tables oid[], p_gently boolean)
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '100ms'
AS $$
DECLARE
    v_step  record;
    v_count integer := 0;
BEGIN
    FOR v_step IN
        SELECT w.*
        FROM pgauto_mv._wrong_triggers(p_auto_mv_id, p_gently) AS w
        WHERE w.source = ANY (p_tables)
        ORDER BY w.source, w.name
    LOOP
        IF v_step.present THEN
            EXECUTE format('DROP TRIGGER %I ON %s', v_step.name, v_step.source::regclass);
        END IF;
        IF v_step.type IS NOT NULL THEN
            EXECUTE format('CREATE TRIGGER %I AFTER %s ON %s FOR EACH %s EXECUTE FUNCTION pgauto_mv._source_changed(%L, %L, %L)',
                v_step.name,
                concat_ws(' OR ',
                    CASE WHEN v_step.type & 4 > 0 THEN 'INSERT' END, CASE WHEN v_step.type & 8 > 0 THEN 'DELETE' END,
                    CASE WHEN v_step.type & 16 > 0 THEN 'UPDATE' END, CASE WHEN v_step.type & 32 > 0 THEN 'TRUNCATE' END),
                v_step.source::regclass,
                CASE WHEN v_step.type & 1 > 0 THEN 'ROW' ELSE 'STATEMENT' END,
                p_auto_mv_id,
                pgauto_mv._lock_key(p_auto_mv_id, 'deferral'),
                'pgauto_mv.changed_' || replace(p_auto_mv_id::text, '-', ''));
            IF v_step.enabled = 'A' THEN
                EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', v_step.source::regclass, v_step.name);
            END IF;
        END IF;
        v_count := v_count + 1;
    END LOOP;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION pgauto_mv._write_triggers(uuid, oid[], boolean) IS 'Puts the triggers of some sources right. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._write_triggers(uuid, oid[], boolean) FROM PUBLIC;
