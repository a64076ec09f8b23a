-- Purpose: whether a text is a reference to a variable of the Processor's host (pg_relay_notifier: Secrets).
-- Parameters: p_text
CREATE FUNCTION pgrelay_notifier._is_reference(p_text text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT p_text OPERATOR(pg_catalog.~) '^_env:[A-Za-z_][A-Za-z0-9_]*$' $$;
COMMENT ON FUNCTION pgrelay_notifier._is_reference(text) IS 'Whether a text is a reference to a variable of the Processor''s host. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._is_reference(text) FROM PUBLIC;
