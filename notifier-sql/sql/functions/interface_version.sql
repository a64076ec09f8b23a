-- Purpose: version of the interface that a Processor calls: fetch(), set_status() and debug_log(). 1 for every release 1.x.
-- Returns: 1
-- Reads, writes: nothing
CREATE FUNCTION pgrelay_notifier.interface_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT 1 $$;
COMMENT ON FUNCTION pgrelay_notifier.interface_version() IS 'Version of the interface to the Processor. Interface 1, since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.interface_version() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.interface_version() TO pgrelay_processor, pgrelay_notifier_admin;
