-- Purpose: refuse a value that its key does not take.
-- Parameters: p_subject, p_key  as for _refuse_key(); p_kind, p_low, p_high, p_choices  of _fields(); p_value
-- Raises: PN003, PN004, PN011
CREATE FUNCTION pgrelay_notifier._check_field(
    p_subject text,
    p_key     text,
    p_kind    text,
    p_low     bigint,
    p_high    bigint,
    p_choices text[],
    p_value   jsonb
)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_type  text  := jsonb_typeof(p_value);
    -- Content and what may hold a secret is not quoted: the error may end up in a log.
    v_shown jsonb := CASE
        WHEN p_kind IN ('secret', 'text', 'base64', 'url', 'base_url') OR p_kind = 'line' AND p_subject = 'message' THEN NULL
        ELSE p_value
    END;
BEGIN
    IF p_kind = 'any' THEN
        IF v_type = 'null' THEN
            PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, p_value, 'is null', 'any other JSON');
        END IF;
    ELSIF p_kind = 'boolean' THEN
        IF v_type <> 'boolean' THEN
            PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, p_value, 'is not a boolean', 'true or false');
        END IF;
    ELSIF p_kind = 'integer' THEN
        PERFORM pgrelay_notifier._check_integer(p_subject, p_key, p_low, p_high, p_value);
    ELSIF p_kind IN ('addresses', 'uris', 'domains', 'backoff') THEN
        PERFORM pgrelay_notifier._check_list(p_subject, p_key, p_kind, p_low, p_high, p_value);
    ELSIF p_kind IN ('mail_headers', 'http_headers') THEN
        PERFORM pgrelay_notifier._check_headers(p_subject, p_key, p_kind, p_value);
    ELSIF p_kind = 'attachments' THEN
        PERFORM pgrelay_notifier._check_attachments(p_key, p_value);
    ELSIF v_type <> 'string' THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, v_shown, 'is not a string',
            CASE WHEN p_kind = 'secret' THEN 'a reference, such as "_env:NAME"' ELSE 'a JSON string' END);
    ELSE
        PERFORM pgrelay_notifier._check_string(p_subject, p_key, p_kind, p_low, p_high, p_choices, p_value #>> '{}', v_shown);
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_field(text, text, text, bigint, bigint, text[], jsonb) IS 'Refuses a value that its key does not take. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_field(text, text, text, bigint, bigint, text[], jsonb) FROM PUBLIC;
