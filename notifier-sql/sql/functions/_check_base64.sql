-- Purpose: refuse what is not base64 (RFC 4648 section 4, padded; white space is skipped).
-- Parameters: p_subject, p_key  as for _refuse_key(); p_text  content, which is never shown
-- Raises: PN004
CREATE FUNCTION pgrelay_notifier._check_base64(p_subject text, p_key text, p_text text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_text text := replace(replace(replace(replace(p_text, ' ', ''), E'\t', ''), E'\r', ''), E'\n', '');
    v_tail text := right(v_text, 4);
BEGIN
    PERFORM decode(v_text, 'base64');
    -- decode() lets more pass than others do: padding in the middle, and bits after the end.
    IF strpos(rtrim(v_text, '='), '=') > 0 OR encode(decode(v_tail, 'base64'), 'base64') <> v_tail THEN
        RAISE invalid_parameter_value;
    END IF;
EXCEPTION WHEN invalid_parameter_value THEN
    PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, NULL, 'is not base64',
        'what encode(content, ''base64'') gives');
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_base64(text, text, text) IS 'Refuses what is not base64. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_base64(text, text, text) FROM PUBLIC;
