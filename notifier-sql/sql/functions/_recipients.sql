-- Purpose: recipients as send_mail() takes them, as the message holds them.
-- Parameters: p_text  one address, or an array of addresses written as JSON
-- Returns: a JSON string or array; NULL for NULL. What looks like JSON and is none is left to the check of the message
CREATE FUNCTION pgrelay_notifier._recipients(p_text text)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
BEGIN
    -- No address begins with a bracket.
    IF starts_with(p_text, '[') THEN
        RETURN p_text::jsonb;
    END IF;
    RETURN to_jsonb(p_text);
EXCEPTION WHEN invalid_text_representation OR untranslatable_character THEN
    RETURN to_jsonb(p_text);
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._recipients(text) IS 'Recipients as the message holds them. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._recipients(text) FROM PUBLIC;
