-- Purpose: the oldest Processor that may serve this schema. An older one refuses to start with exit code 76.
-- Returns: 'major.minor'
-- Reads, writes: nothing
CREATE FUNCTION pgrelay._oldest_processor()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT '1.1'::text $$;
COMMENT ON FUNCTION pgrelay._oldest_processor() IS 'Oldest Processor version that may serve this schema. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._oldest_processor() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay._oldest_processor() TO pgrelay_processor, pgrelay_admin;
