-- Purpose: what send() and its kin refuse.
-- Parameters: p_profile  the profile that it is sent with; p_message
-- Raises: PN004 malformed message, PN005 message too large
CREATE FUNCTION pgrelay_notifier._check_message(p_profile pgrelay_notifier.profiles, p_message jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_of    text   := CASE p_profile.transport WHEN 'webhook' THEN 'call' ELSE 'mail' END;
    v_key   text;
    v_bytes bigint;
    v_limit bigint;
BEGIN
    PERFORM pgrelay_notifier._check_fields('message', v_of, NULL, p_message);
    PERFORM pgrelay_notifier._check_nesting('message', p_message);
    -- A reference would let whoever may send read the Processor's environment by mailing it to himself.
    SELECT e.key INTO v_key
    FROM jsonb_each(p_message) AS e
    WHERE jsonb_path_exists(e.value, 'strict $.** ? (@.type() == "string" && @ like_regex "^_env:[A-Za-z_][A-Za-z0-9_]*$")')
    LIMIT 1;
    IF FOUND THEN
        PERFORM pgrelay_notifier._refuse_key('message', left(v_key, 100), NULL, 'holds a reference to an environment variable', 'references in profiles only');
    END IF;
    PERFORM pgrelay_notifier._check_together(p_profile, p_message);
    v_bytes := pgrelay_notifier._content_bytes(v_of, p_message);
    v_limit := pgrelay_notifier._max_message_bytes(p_profile.transport, p_profile.profile);
    IF v_bytes > v_limit THEN
        PERFORM pgrelay_notifier._refuse(
            'message too large',
            format('message of %s bytes exceeds the limit of %s bytes of profile %L', v_bytes, v_limit, p_profile.name),
            'Counted are text, html and attachments before they are encoded, or the body of a webhook.',
            'Send a link to the content, or raise max_message_bytes in the profile.'
        );
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_message(pgrelay_notifier.profiles, jsonb) IS 'Refuses a malformed message. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_message(pgrelay_notifier.profiles, jsonb) FROM PUBLIC;
