-- Purpose: from PostgreSQL 17 on the privilege MAINTAIN allows a refresh as well.
-- Parameters: p_mv_oid
-- Returns: true or false
CREATE FUNCTION pgauto_mv._may_maintain(p_mv_oid oid)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN current_setting('server_version_num')::integer >= 170000 AND has_table_privilege(p_mv_oid, 'MAINTAIN');
END
$$;
COMMENT ON FUNCTION pgauto_mv._may_maintain(oid) IS 'Whether MAINTAIN is granted. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._may_maintain(oid) FROM PUBLIC;
