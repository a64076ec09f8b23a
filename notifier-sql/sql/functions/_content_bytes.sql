-- Purpose: size of a message's content: text, html and attachments before they are encoded for the way, or the body of a webhook.
-- Parameters: p_of  mail or call; p_message  a well-formed one
-- Returns: bytes; of a webhook's JSON body as the server writes it, blanks after commas and colons included
CREATE FUNCTION pgrelay_notifier._content_bytes(p_of text, p_message jsonb)
RETURNS bigint
LANGUAGE sql IMMUTABLE SECURITY INVOKER
AS $$
    SELECT CASE
        WHEN p_of = 'call' AND jsonb_typeof(p_message -> 'body') = 'string' THEN octet_length(p_message ->> 'body')::bigint
        WHEN p_of = 'call' THEN octet_length((p_message -> 'body')::text)::bigint
        ELSE coalesce(octet_length(p_message ->> 'text'), 0)::bigint
            + coalesce(octet_length(p_message ->> 'html'), 0)
            + coalesce((
                SELECT sum(octet_length(decode(a.item ->> 'content_base64', 'base64')))
                FROM jsonb_array_elements(p_message -> 'attachments') AS a (item)
            ), 0)
    END
$$;
COMMENT ON FUNCTION pgrelay_notifier._content_bytes(text, jsonb) IS 'Size of a message''s content in bytes. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._content_bytes(text, jsonb) FROM PUBLIC;
