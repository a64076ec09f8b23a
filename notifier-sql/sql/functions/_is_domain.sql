-- Purpose: whether a text is a domain name: labels of letters, digits and inner hyphens (RFC 1123 section 2.1), up to 63 characters each
--          and 253 octets together. Letters of any script are let through; the Processor converts them (RFC 5891) and judges again.
-- Parameters: p_text
CREATE FUNCTION pgrelay_notifier._is_domain(p_text text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$
    SELECT octet_length(p_text) <= 253
       -- Spaces, invisible characters, and what IDNA takes for a dot or a mail program for an @.
       AND p_text !~ E'[\\u0080-\\u00a0\\u00ad\\u1680\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3000\\u3002\\ufeff\\uff0e\\uff20\\uff61]'
       AND regexp_replace(p_text, E'[^\\x01-\\x7f]', 'x', 'g')
           ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$'
$$;
COMMENT ON FUNCTION pgrelay_notifier._is_domain(text) IS 'Whether a text is a domain name. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._is_domain(text) FROM PUBLIC;
