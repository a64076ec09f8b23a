-- Purpose: a view that depends on the current time goes stale without any write. What built-in functions a view calls is not in the catalog, so its text is
--          looked at, and that of the plain views it reads: a hint to a person, nothing is refused.
-- Parameters: p_mv
-- Raises: nothing but a WARNING
-- Reads: the definitions
CREATE FUNCTION pgauto_mv._warn_of_clock(p_mv regclass)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_word text := (
        SELECT substring(pg_get_viewdef(r.oid)
            FROM '[[:<:]](?:now[(]|(?:clock|statement|transaction)_timestamp[(]|CURRENT_(?:DATE|TIME)|LOCALTIME)')
        FROM pgauto_mv._relations_read(p_mv) AS r
        WHERE r.relkind = 'v' OR r.oid = p_mv
        ORDER BY 1
        LIMIT 1
    );
BEGIN
    IF v_word IS NOT NULL THEN
        RAISE WARNING USING MESSAGE = format('%s depends on the current time and goes stale without a write', p_mv),
            DETAIL = format('Its definition, or that of a view it reads, has %s in it.', rtrim(v_word, '(')),
            HINT = 'Give it a schedule: SELECT pgauto_mv.assign_schedule(view, schedule).';
    END IF;
END
$$;
COMMENT ON FUNCTION pgauto_mv._warn_of_clock(regclass) IS 'Warns of a view that depends on the current time. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._warn_of_clock(regclass) FROM PUBLIC;
