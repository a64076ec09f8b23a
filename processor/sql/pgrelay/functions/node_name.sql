-- Purpose: name of the database node this session is connected to.
-- Returns: the name given to set_node(), or 'local'
-- Reads: pgrelay.node
CREATE FUNCTION pgrelay.node_name()
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN coalesce((SELECT n.name FROM pgrelay.node AS n), 'local');
END
$$;
COMMENT ON FUNCTION pgrelay.node_name() IS 'Name of this database node. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay.node_name() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.node_name() TO pgrelay_admin, pgrelay_producer, pgrelay_processor, pgrelay_monitor;
