-- Purpose: how a companion's install or upgrade script announces itself; Processors then reload.
-- Parameters: p_name, p_schema  the schema its objects live in, p_version
-- Raises: PR003 bad argument
-- Writes: pgrelay.companions, pgrelay.fleet
CREATE FUNCTION pgrelay.register_companion(p_name text, p_schema text, p_version text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF coalesce(p_name, '') = '' OR coalesce(p_schema, '') = '' OR coalesce(p_version, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'register_companion needs a name, a schema and a version',
            DETAIL = format('p_name = %L, p_schema = %L, p_version = %L', p_name, p_schema, p_version);
    END IF;
    INSERT INTO pgrelay.companions AS c (name, schema_name, version)
    VALUES (p_name, p_schema, p_version)
    ON CONFLICT (name) DO UPDATE
    SET schema_name = excluded.schema_name, version = excluded.version, registered_at = clock_timestamp();
    PERFORM pgrelay.request_reload();
END
$$;
COMMENT ON FUNCTION pgrelay.register_companion(text, text, text) IS 'Announces an installed companion. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay.register_companion(text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.register_companion(text, text, text) TO pgrelay_admin;
