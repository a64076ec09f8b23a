-- Purpose: an INSERT into pgrelay.fleet replaces its only row. The installation has made one already when pg_restore brings back
--          the settings of an extension; without this they would be lost to a duplicate key.
-- Returns: the new row
-- Writes: pgrelay.fleet
CREATE FUNCTION pgrelay._replace_fleet()
RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM pgrelay.fleet;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION pgrelay._replace_fleet() IS 'Has an INSERT into pgrelay.fleet replace its only row. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._replace_fleet() FROM PUBLIC;
CREATE TRIGGER fleet_replace
    BEFORE INSERT ON pgrelay.fleet
    FOR EACH ROW EXECUTE FUNCTION pgrelay._replace_fleet();
COMMENT ON TRIGGER fleet_replace ON pgrelay.fleet IS 'An INSERT replaces the only row.';
