-- Purpose: the oldest Processor that may serve this schema.
-- Returns: 'major.minor'
-- Reads, writes: nothing
CREATE FUNCTION pgauto_mv._oldest_processor()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT '1.1'::text $$;
COMMENT ON FUNCTION pgauto_mv._oldest_processor() IS 'Oldest Processor version that may serve this schema. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._oldest_processor() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._oldest_processor() TO pgauto_mv_admin, pgrelay_processor;
