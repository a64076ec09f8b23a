-- Purpose: the oldest release whose binary may install beside, upgrade around and serve this notifier.
-- Returns: 'major.minor'
-- Reads, writes: nothing
CREATE FUNCTION pgrelay_notifier._oldest_processor()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT '1.1'::text $$;
COMMENT ON FUNCTION pgrelay_notifier._oldest_processor() IS 'Oldest Processor version that may serve this notifier. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._oldest_processor() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier._oldest_processor() TO pgrelay_notifier_admin;
