-- Purpose: version of the installed schema; install asks it, and it tells our schema from one that somebody else made.
-- Returns: 'major.minor'
-- Reads, writes: nothing
CREATE FUNCTION pepsi.version()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT '1.1'::text $$;
ALTER FUNCTION pepsi.version() OWNER TO pepsi;
COMMENT ON FUNCTION pepsi.version() IS 'Version of the installed pepsi schema. Since 1.1.';
REVOKE ALL ON FUNCTION pepsi.version() FROM PUBLIC;
