-- Purpose: refuse headers of a mail or of an HTTP request that could replace ours, end the header early or hold a secret.
-- Parameters: p_subject, p_key  as for _refuse_key(); p_kind  mail_headers or http_headers; p_headers
-- Raises: PN003, PN004, PN011 a credential that is written out
CREATE FUNCTION pgrelay_notifier._check_headers(p_subject text, p_key text, p_kind text, p_headers jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_name text;
    v_item jsonb;
    v_seen text[] := '{}';
BEGIN
    IF jsonb_typeof(p_headers) <> 'object' OR (SELECT count(*) FROM jsonb_object_keys(p_headers)) > 50 THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, NULL, 'is not an object of up to 50 headers', '{"X-Name": "value"}');
    END IF;
    FOR v_name, v_item IN SELECT e.key, e.value FROM jsonb_each(p_headers) AS e LOOP
        IF NOT pgrelay_notifier._is_header_name(p_kind, v_name) THEN
            PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, to_jsonb(v_name), 'has a name that is not accepted',
                CASE p_kind
                    WHEN 'mail_headers' THEN 'X-*, List-*, Auto-Submitted, Precedence, References, In-Reply-To, Keywords, Comments, '
                        'Organization, Feedback-ID, Sensitivity, Thread-Topic, Thread-Index, Archived-At'
                    ELSE 'names of letters, digits and hyphens that neither belong to HTTP''s own framing nor begin with webhook-'
                END);
        ELSIF lower(v_name) = ANY (v_seen) THEN
            PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, to_jsonb(v_name), 'has the same name twice', 'each name once, whatever its case');
        ELSIF jsonb_typeof(v_item) <> 'string' OR char_length(v_item #>> '{}') > 8192 THEN
            PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, to_jsonb(v_name), 'has a value that is not a string of up to 8192 characters',
                'a JSON string');
        ELSIF pgrelay_notifier._has_control(v_item #>> '{}') THEN
            PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, to_jsonb(v_name), 'has a value that holds a control character',
                'text without control characters and line separators');
        ELSIF p_kind = 'http_headers' AND v_item #>> '{}' ~ '[^ -~]' THEN
            PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, to_jsonb(v_name), 'has a value that is not ASCII', 'printable ASCII');
        ELSIF lower(v_name) IN ('authorization', 'cookie')
              AND NOT (p_subject = 'profile' AND pgrelay_notifier._is_reference(v_item #>> '{}')) THEN
            PERFORM pgrelay_notifier._refuse('literal secret', format('malformed %s: header %s must be a reference in the profile', p_subject, v_name),
                format('key = %s, value = %s', p_key, to_jsonb(v_name)),
                'Put the whole value into the environment of the Processor and write _env:NAME into the headers of the profile.');
        END IF;
        v_seen := v_seen || lower(v_name);
    END LOOP;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_headers(text, text, text, jsonb) IS 'Refuses headers that could do harm. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_headers(text, text, text, jsonb) FROM PUBLIC;
