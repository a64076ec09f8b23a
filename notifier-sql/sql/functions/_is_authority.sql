-- Purpose: whether a text is the authority of a URL (RFC 3986 section 3.2) without user: a host or an IPv6 address in brackets, and
--          perhaps a port.
-- Parameters: p_text
CREATE FUNCTION pgrelay_notifier._is_authority(p_text text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT SECURITY INVOKER
AS $$
DECLARE
    v_parts text[] := regexp_match(p_text, '^(?:[[]([^][]*)[]]|([^]:[]+))(?::([0-9]{1,5}))?$');
BEGIN
    RETURN v_parts IS NOT NULL
       AND coalesce(v_parts[3]::integer, 0) <= 65535
       AND CASE
               WHEN v_parts[2] IS NOT NULL THEN pgrelay_notifier._is_host(v_parts[2])
               ELSE pgrelay_notifier._address_family(v_parts[1]) IS NOT DISTINCT FROM 6
           END;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._is_authority(text) IS 'Whether a text is the authority of a URL. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._is_authority(text) FROM PUBLIC;
