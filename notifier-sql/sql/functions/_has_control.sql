-- Purpose: whether a text could break out of a header, an address, a host or a URL: a control character (CR, LF, NUL's neighbours, DEL,
--          U+0080 to U+009F) or one of the line separators U+2028 and U+2029. NUL itself cannot be stored in a text.
-- Parameters: p_text
CREATE FUNCTION pgrelay_notifier._has_control(p_text text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT p_text OPERATOR(pg_catalog.~) E'[\\x01-\\x1f\\x7f-\\x9f\\u2028\\u2029]' $$;
COMMENT ON FUNCTION pgrelay_notifier._has_control(text) IS 'Whether a text holds a control character or a line separator. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._has_control(text) FROM PUBLIC;
