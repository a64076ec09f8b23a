-- Purpose: whether a text is an IP address as all programs write it: IPv4 in four decimal parts, IPv6 without a zone (RFC 4291 section 2.2).
-- Parameters: p_text
-- Returns: 4 or 6; NULL for what is no address
CREATE FUNCTION pgrelay_notifier._address_family(p_text text)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE STRICT SECURITY INVOKER
AS $$
DECLARE
    v_octet CONSTANT text := '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
    v_ipv4  CONSTANT text := format('(%1$s[.]){3}%1$s', v_octet);
BEGIN
    IF p_text ~ format('^%s$', v_ipv4) THEN
        RETURN 4;
    ELSIF p_text ~ format('^[0-9A-Fa-f:]*:(%s|[0-9A-Fa-f]{0,4})$', v_ipv4) THEN
        -- What is left is the number of groups, and the one :: that may stand for some of them.
        BEGIN
            RETURN family(p_text::inet);
        EXCEPTION WHEN invalid_text_representation THEN
            RETURN NULL;
        END;
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._address_family(text) IS 'Family of an IP address, 4 or 6; NULL for what is none. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._address_family(text) FROM PUBLIC;
