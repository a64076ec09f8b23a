-- Purpose: repair what of one view has come apart: its binding, the names of its sources, their triggers, the event of its next slot; and a dispatch, which does the rest.
-- Parameters: p_auto_mv_id
-- Returns: what was done, in words; NULL: nothing was to be done
-- Raises: PM005 a source cannot be watched, 55P03 something stays locked
-- Writes: materialised_views, mv_sources, mv_state, pgrelay.queue; triggers on the sources
CREATE FUNCTION pgauto_mv._reconcile_one(p_auto_mv_id uuid)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
DECLARE
    v_setting  pgauto_mv.materialised_views;
    v_state    pgauto_mv.mv_state_v;
    v_done     text[] := '{}';
    v_triggers integer;
BEGIN
    SELECT m.* INTO STRICT v_setting FROM pgauto_mv.materialised_views AS m WHERE m.auto_mv_id = p_auto_mv_id;
    INSERT INTO pgauto_mv.mv_state (auto_mv_id) VALUES (p_auto_mv_id) ON CONFLICT (auto_mv_id) DO NOTHING;
    SELECT v.* INTO v_state FROM pgauto_mv.mv_state_v AS v WHERE v.auto_mv_id = p_auto_mv_id;
    IF v_state.mv_missing THEN
        RETURN NULL;
    END IF;
    IF (v_setting.mv_schema, v_setting.mv_name) <> (v_state.mv_schema, v_state.mv_name) THEN
        v_done := v_done || format('renamed to %I.%I', v_state.mv_schema, v_state.mv_name);
    END IF;
    PERFORM pgauto_mv._bind(v_state);
    IF v_setting.derive_sources THEN
        PERFORM pgauto_mv._set_sources(p_auto_mv_id, v_state.mv_oid, NULL, p_chain => false);
    ELSE
        PERFORM pgauto_mv._follow_sources(p_auto_mv_id);
    END IF;
    v_triggers := pgauto_mv._sync_triggers(p_auto_mv_id);
    IF v_triggers > 0 THEN
        -- What they would have told is not known.
        INSERT INTO pgauto_mv.mv_events (auto_mv_id) VALUES (p_auto_mv_id);
        v_done := v_done || format('%s triggers repaired', v_triggers);
    END IF;
    IF v_setting.is_active AND v_setting.schedule_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM pgrelay.queue AS q WHERE q.id = v_state.scheduled_queue_id AND q.status = 'pending'
    ) THEN
        PERFORM pgauto_mv._advance_schedule(p_auto_mv_id);
        v_done := v_done || 'schedule started'::text;
    END IF;
    PERFORM pgauto_mv._send(p_auto_mv_id);
    RETURN nullif(array_to_string(v_done, ', '), '');
END
$$;
COMMENT ON FUNCTION pgauto_mv._reconcile_one(uuid) IS 'Repairs what of one view has come apart. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._reconcile_one(uuid) FROM PUBLIC;
