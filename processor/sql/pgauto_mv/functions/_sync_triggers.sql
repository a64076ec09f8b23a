-- Purpose: make the triggers on the sources of a view what they should be, and touch nothing that is right. Tables are locked in the order of their
--          OIDs, SHARE ROW EXCLUSIVE, for five seconds at most each: writers that come meanwhile wait behind it no longer than that.
-- Parameters: p_auto_mv_id  of a view that is no longer registered: its triggers are removed
-- Returns: number of triggers created or removed
-- Raises: 55P03 when a table stays locked
-- Reads: _expected_triggers(), _present_triggers()   Writes: triggers; mv_state.partitions
CREATE FUNCTION pgauto_mv._sync_triggers(p_auto_mv_id uuid)
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
DECLARE
    v_step  record;
    v_count integer := 0;
BEGIN
    FOR v_step IN
        SELECT coalesce(x.source, p.source) AS source, coalesce(x.name, p.name) AS name, x.type, x.enabled, p.name IS NOT NULL AS present
        FROM pgauto_mv._expected_triggers(p_auto_mv_id) AS x
        FULL JOIN pgauto_mv._present_triggers(p_auto_mv_id) AS p ON (p.source, p.name) = (x.source, x.name)
        WHERE (x.type, x.enabled) IS DISTINCT FROM (p.type, p.enabled)
        ORDER BY 1, 2
    LOOP
        IF v_step.present THEN
            EXECUTE format('DROP TRIGGER %I ON %s', v_step.name, v_step.source::regclass);
        END IF;
        IF v_step.type IS NOT NULL THEN
            EXECUTE format('CREATE TRIGGER %I AFTER %s ON %s FOR EACH %s EXECUTE FUNCTION pgauto_mv._source_changed(%L)',
                v_step.name,
                concat_ws(' OR ',
                    CASE WHEN v_step.type & 4 > 0 THEN 'INSERT' END, CASE WHEN v_step.type & 8 > 0 THEN 'DELETE' END,
                    CASE WHEN v_step.type & 16 > 0 THEN 'UPDATE' END, CASE WHEN v_step.type & 32 > 0 THEN 'TRUNCATE' END),
                v_step.source::regclass,
                CASE WHEN v_step.type & 1 > 0 THEN 'ROW' ELSE 'STATEMENT' END,
                p_auto_mv_id);
            IF v_step.enabled = 'A' THEN
                EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', v_step.source::regclass, v_step.name);
            END IF;
        END IF;
        v_count := v_count + 1;
    END LOOP;
    UPDATE pgauto_mv.mv_state AS s
    SET partitions = pgauto_mv._partitions(p_auto_mv_id)
    WHERE s.auto_mv_id = p_auto_mv_id AND s.partitions IS DISTINCT FROM pgauto_mv._partitions(p_auto_mv_id);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION pgauto_mv._sync_triggers(uuid) IS 'Makes the triggers on the sources of a view what they should be. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._sync_triggers(uuid) FROM PUBLIC;
