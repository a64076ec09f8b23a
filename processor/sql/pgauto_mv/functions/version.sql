-- Purpose: version of the installed schema; install and upgrade ask it first.
-- Returns: 'major.minor'
-- Reads, writes: nothing
CREATE FUNCTION pgauto_mv.version()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT '1.0'::text $$;
COMMENT ON FUNCTION pgauto_mv.version() IS 'Version of the installed pgauto_mv schema. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.version() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.version() TO pgauto_mv_monitor, pgrelay_processor;
