-- Purpose: tells whether an OID that was written down still means anything: it does in the same database of the same cluster (and its
--          physical copies), not after dump and restore, not in a copy made with CREATE DATABASE, not on another node.
-- Returns: 'system identifier/database OID'; only the latter where the former may not be read
-- Reads: pg_control_system(), pg_database
CREATE FUNCTION pgauto_mv._database_identity()
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_database oid := (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database());
BEGIN
    IF has_function_privilege('pg_control_system()', 'EXECUTE') THEN
        RETURN format('%s/%s', (SELECT s.system_identifier FROM pg_control_system() AS s), v_database);
    END IF;
    RETURN format('-/%s', v_database);
END
$$;
COMMENT ON FUNCTION pgauto_mv._database_identity() IS 'Identity of this database, within which OIDs keep their meaning. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._database_identity() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._database_identity() TO pgauto_mv_monitor;
