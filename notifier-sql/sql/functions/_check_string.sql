-- Purpose: refuse a text that its key does not take.
-- Parameters: p_subject, p_key  as for _refuse_key(); p_kind, p_low, p_high, p_choices  of _fields(); p_text; p_shown  as p_value of _refuse_key()
-- Raises: PN003, PN004, PN011 literal secret
CREATE FUNCTION pgrelay_notifier._check_string(
    p_subject text,
    p_key     text,
    p_kind    text,
    p_low     bigint,
    p_high    bigint,
    p_choices text[],
    p_text    text,
    p_shown   jsonb
)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_ok       boolean;
    v_accepted text;
BEGIN
    -- What a reference stands for is known to the Processor alone, which judges it at every attempt.
    IF p_kind = 'text' OR p_subject = 'profile' AND pgrelay_notifier._is_reference(p_text) THEN
        RETURN;
    ELSIF p_kind = 'secret' THEN
        PERFORM pgrelay_notifier._refuse(
            'literal secret',
            format('malformed profile: %s must be a reference', p_key),
            format('key = %s', p_key),
            'Put the secret into the environment of the Processor and write _env:NAME here.'
        );
    ELSIF p_kind IN ('address', 'mailbox') THEN
        PERFORM pgrelay_notifier._check_address(p_subject, p_key, p_text, p_kind = 'mailbox');
        RETURN;
    ELSIF p_kind = 'base64' THEN
        PERFORM pgrelay_notifier._check_base64(p_subject, p_key, p_text);
        RETURN;
    ELSIF pgrelay_notifier._has_control(p_text) THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, p_shown, 'holds a control character',
            'text without control characters and line separators');
    END IF;
    SELECT j.ok, j.accepted INTO v_ok, v_accepted
    FROM pgrelay_notifier._judge_text(p_kind, p_low, p_high, p_choices, p_text) AS j;
    IF v_ok IS NOT TRUE THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, p_shown, 'is not accepted', v_accepted);
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_string(text, text, text, bigint, bigint, text[], text, jsonb)
    IS 'Refuses a text that its key does not take. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_string(text, text, text, bigint, bigint, text[], text, jsonb) FROM PUBLIC;
