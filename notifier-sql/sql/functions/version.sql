-- Purpose: version of the installed notifier; install and upgrade ask it first.
-- Returns: 'major.minor'
-- Reads, writes: nothing
CREATE FUNCTION pgrelay_notifier.version()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT '1.0'::text $$;
COMMENT ON FUNCTION pgrelay_notifier.version() IS 'Version of the installed notifier. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.version() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.version() TO pgrelay_notifier_admin, pgrelay_notifier_sender, pgrelay_notifier_monitor, pgrelay_processor;
