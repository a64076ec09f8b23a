-- Purpose: write down the sources of a view. Materialised views among them become parents in the chain when they are registered.
-- Parameters: p_auto_mv_id; p_mv_oid; p_sources  NULL: derived from the definition
-- Raises: PM003, PM005, PM006
-- Writes: mv_sources, mv_chain
CREATE FUNCTION pgauto_mv._set_sources(p_auto_mv_id uuid, p_mv_oid oid, p_sources regclass[])
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_all     oid[] := coalesce(p_sources::oid[], ARRAY(SELECT pgauto_mv._derive_sources(p_mv_oid)));
    v_replica boolean := (SELECT m.fire_on_replica FROM pgauto_mv.materialised_views AS m WHERE m.auto_mv_id = p_auto_mv_id);
    v_source  oid;
    v_parent  uuid;
BEGIN
    DELETE FROM pgauto_mv.mv_sources AS s WHERE s.auto_mv_id = p_auto_mv_id;
    FOREACH v_source IN ARRAY v_all LOOP
        IF EXISTS (SELECT FROM pg_class AS c WHERE c.oid = v_source AND c.relkind = 'm') THEN
            v_parent := (SELECT v.auto_mv_id FROM pgauto_mv.mv_state_v AS v WHERE v.mv_oid = v_source);
            IF v_parent IS NULL THEN
                RAISE NOTICE USING MESSAGE = format('materialised view %s is read and not registered', v_source::regclass),
                    HINT = 'Register it and chain this one to it, or give this one a schedule.';
            ELSIF NOT EXISTS (SELECT FROM pgauto_mv.mv_chain AS c WHERE (c.parent_id, c.child_id) = (v_parent, p_auto_mv_id)) THEN
                PERFORM pgauto_mv._link(v_parent, p_auto_mv_id, false);
            END IF;
            CONTINUE;
        END IF;
        PERFORM pgauto_mv._refuse_source(v_source, v_all, v_replica);
        INSERT INTO pgauto_mv.mv_sources (auto_mv_id, source_schema, source_name)
        SELECT p_auto_mv_id, n.nspname, c.relname
        FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE c.oid = v_source
        ON CONFLICT DO NOTHING;
    END LOOP;
END
$$;
COMMENT ON FUNCTION pgauto_mv._set_sources(uuid, oid, regclass[]) IS 'Writes down the sources of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._set_sources(uuid, oid, regclass[]) FROM PUBLIC;
