-- Purpose: refuse a profile or a message because of one key.
-- Parameters: p_subject   profile or message
--             p_key       where, for example host or attachments[1].filename
--             p_value     what is there, shown up to 100 characters; NULL when it is missing or must not be shown
--             p_problem   what is wrong with it, as the end of a sentence that begins with the key
--             p_accepted  what would be accepted
-- Raises: PN003 malformed profile, PN004 malformed message
CREATE FUNCTION pgrelay_notifier._refuse_key(p_subject text, p_key text, p_value jsonb, p_problem text, p_accepted text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_shown text := left(p_value::text, 100);
BEGIN
    PERFORM pgrelay_notifier._refuse(
        'malformed ' || p_subject,
        format('malformed %s: %s %s', p_subject, p_key, p_problem),
        CASE
            WHEN p_value IS NULL THEN format('key = %s', p_key)
            WHEN char_length(v_shown) < char_length(p_value::text) THEN format('key = %s, value = %s…', p_key, v_shown)
            ELSE format('key = %s, value = %s', p_key, v_shown)
        END,
        format('Accepted: %s.', p_accepted)
    );
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._refuse_key(text, text, jsonb, text, text) IS 'Refuses a profile or a message because of one key. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._refuse_key(text, text, jsonb, text, text) FROM PUBLIC;
