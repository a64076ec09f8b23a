-- Purpose: refuse what could not be watched, with the reason, rather than let a view go stale unnoticed.
-- Parameters: p_source; p_sources  all of them; p_on_replica  the triggers must be ENABLE ALWAYS, which takes the owner
-- Raises: PM005 cannot be watched, PM006 the installer of pg_auto_mv lacks a privilege
-- Reads: pg_class, pg_inherits
CREATE FUNCTION pgauto_mv._refuse_source(p_source oid, p_sources oid[], p_on_replica boolean)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_class   pg_class;
    v_problem text;
    v_hint    text := 'Name the tables that count with p_sources, and give the view a schedule for the rest.';
BEGIN
    SELECT c.* INTO v_class FROM pg_class AS c WHERE c.oid = p_source;
    IF v_class.relkind = 'f' THEN
        v_problem := 'it is a foreign table, and changes made on the other side fire no trigger here';
    ELSIF (v_class.relkind IN ('r', 'p')) IS NOT TRUE THEN
        v_problem := 'it is not a table';
    ELSIF v_class.oid < 16384 THEN
        v_problem := 'it is a system catalog, which takes no triggers';
    ELSIF v_class.relkind = 'r' AND EXISTS (
        SELECT FROM pg_inherits AS i WHERE i.inhparent = p_source AND i.inhrelid <> ALL (p_sources)
    ) THEN
        v_problem := 'tables inherit from it, and changes made in those fire no trigger of it';
        v_hint := 'Name it and every table that inherits from it with p_sources.';
    END IF;
    IF v_problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PM005',
            MESSAGE = format('%s cannot be a source', coalesce(p_source::regclass::text, 'NULL')), DETAIL = v_problem, HINT = v_hint;
    END IF;
    IF NOT has_table_privilege(p_source, 'TRIGGER') OR p_on_replica AND NOT pg_has_role(v_class.relowner, 'USAGE') THEN
        RAISE EXCEPTION USING ERRCODE = 'PM006',
            MESSAGE = format('role %I may not put a trigger on %s', current_user, p_source::regclass),
            DETAIL = 'The functions of pg_auto_mv run as the role that has installed it.',
            HINT = CASE WHEN p_on_replica THEN format('GRANT %I TO %I;', v_class.relowner::regrole::text, current_user)
                        ELSE format('GRANT TRIGGER ON %s TO %I;', p_source::regclass, current_user) END;
    END IF;
END
$$;
COMMENT ON FUNCTION pgauto_mv._refuse_source(oid, oid[], boolean) IS 'Refuses a source that could not be watched. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._refuse_source(oid, oid[], boolean) FROM PUBLIC;
