-- Purpose: whether a text is a host as URLs and profiles name one: a domain name, with a dot at its end or without, or an IPv4 address.
--          Names in ASCII may hold underscores, which files of hosts and networks of containers use.
-- Parameters: p_text
CREATE FUNCTION pgrelay_notifier._is_host(p_text text)
RETURNS boolean
LANGUAGE sql IMMUTABLE SECURITY INVOKER
AS $$
    SELECT CASE
        -- What ends in a number is taken for an address (WHATWG URL: host parsing), and other notations of those are for nobody to read.
        WHEN p_text ~ '(^|[.])([0-9]+|0[Xx][0-9A-Fa-f]*)[.]?$' THEN pgrelay_notifier._address_family(p_text) IS NOT DISTINCT FROM 4
        WHEN p_text ~ '^[!-~]*$' THEN pgrelay_notifier._is_domain(translate(regexp_replace(p_text, '[.]$', ''), '_', 'x'))
        ELSE pgrelay_notifier._is_domain(regexp_replace(p_text, '[.]$', ''))
    END
$$;
COMMENT ON FUNCTION pgrelay_notifier._is_host(text) IS 'Whether a text is a domain name or an IPv4 address. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._is_host(text) FROM PUBLIC;
