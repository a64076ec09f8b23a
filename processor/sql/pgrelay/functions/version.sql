-- Purpose: version of the installed schema; preflight asks it first.
-- Returns: 'major.minor'
-- Reads, writes: nothing
CREATE FUNCTION pgrelay.version()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT '1.1'::text $$;
COMMENT ON FUNCTION pgrelay.version() IS 'Version of the installed pgrelay schema. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay.version() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.version() TO pgrelay_admin, pgrelay_producer, pgrelay_processor, pgrelay_monitor;
