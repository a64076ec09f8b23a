-- Purpose: write down the sources of a view, where they are not those that are written down: the table may be replicated both ways.
-- Parameters: p_auto_mv_id; p_mv_oid; p_sources  NULL: derived from the definition
--             p_chain  registered materialised views among the sources become parents in the chain. Only at registration: later links are the user's
-- Raises: PM003, PM005, PM006
-- Writes: mv_sources, mv_chain, mv_state
CREATE FUNCTION pgauto_mv._set_sources(p_auto_mv_id uuid, p_mv_oid oid, p_sources regclass[], p_chain boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_all     oid[] := coalesce(p_sources::oid[], ARRAY(SELECT pgauto_mv._derive_sources(p_mv_oid)));
    v_replica boolean := (SELECT m.fire_on_replica FROM pgauto_mv.materialised_views AS m WHERE m.auto_mv_id = p_auto_mv_id);
    v_source  oid;
    v_now     text;
BEGIN
    DELETE FROM pgauto_mv.mv_sources AS s
    WHERE s.auto_mv_id = p_auto_mv_id
      AND (to_regclass(format('%I.%I', s.source_schema, s.source_name))::oid = ANY (v_all)) IS NOT TRUE;
    FOREACH v_source IN ARRAY v_all LOOP
        IF EXISTS (SELECT FROM pg_class AS c WHERE c.oid = v_source AND c.relkind = 'm') THEN
            IF p_chain THEN
                PERFORM pgauto_mv._follow_parent(v_source, p_auto_mv_id);
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
    v_now := pgauto_mv._structure(p_auto_mv_id, p_mv_oid);
    UPDATE pgauto_mv.mv_state AS s SET structure = v_now WHERE s.auto_mv_id = p_auto_mv_id AND s.structure IS DISTINCT FROM v_now;
END
$$;
COMMENT ON FUNCTION pgauto_mv._set_sources(uuid, oid, regclass[], boolean) IS 'Writes down the sources of a view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._set_sources(uuid, oid, regclass[], boolean) FROM PUBLIC;
