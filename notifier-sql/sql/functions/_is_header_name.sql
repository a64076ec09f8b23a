-- Purpose: whether a caller may set the header. Of mail (RFC 5322 section 2.2) only names that are nobody else's; of HTTP (RFC 9110
--          section 5.6.2) all but those of its framing (sections 7.6.1 and 7.8) and those of the signature.
-- Parameters: p_kind  mail_headers or http_headers; p_name
CREATE FUNCTION pgrelay_notifier._is_header_name(p_kind text, p_name text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$
    SELECT char_length(p_name) BETWEEN 1 AND 100 AND CASE p_kind
        WHEN 'mail_headers' THEN
            p_name ~* '^(X-[!-9;-~]+|List-[A-Z][A-Z-]*)$'
            OR lower(p_name) = ANY (ARRAY[
                'auto-submitted',
                'precedence',
                'references',
                'in-reply-to',
                'keywords',
                'comments',
                'organization',
                'feedback-id',
                'sensitivity',
                'thread-topic',
                'thread-index',
                'archived-at'
            ])
        ELSE
            p_name ~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]+$'
            AND p_name !~* '^(host|content-length|transfer-encoding|te|trailer|connection|keep-alive|proxy-.*|upgrade|expect|webhook-.*)$'
    END
$$;
COMMENT ON FUNCTION pgrelay_notifier._is_header_name(text, text) IS 'Whether a caller may set the header. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._is_header_name(text, text) FROM PUBLIC;
