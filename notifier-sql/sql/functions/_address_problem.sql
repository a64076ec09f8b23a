-- Purpose: what is wrong with an address, written as addr or as Name <addr>. Blanks at its ends are none of it.
-- Parameters: p_address; p_bare  whether a name is out of place
-- Returns: the end of a sentence that begins with the key; NULL for a good one
CREATE FUNCTION pgrelay_notifier._address_problem(p_address text, p_bare boolean DEFAULT false)
RETURNS text
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_text  text   := btrim(p_address, E' \t');
    -- A name is a quoted string, or anything without quotes and angle brackets.
    v_named text[] := regexp_match(v_text, E'^("(?:[^"\\\\]|\\\\.)*"|[^"<>]*)[ \t]*<([^<>]*)>$');
    v_parts text[] := regexp_match(coalesce(v_named[2], v_text), '^([^@]*)@([^@]*)$');
BEGIN
    RETURN CASE
        WHEN pgrelay_notifier._has_control(v_text) THEN 'holds a control character'
        WHEN v_named IS NOT NULL AND p_bare THEN 'has a name, and takes an address only'
        WHEN char_length(v_named[1]) > 256 THEN 'has a name of more than 256 characters'
        WHEN v_parts IS NULL THEN 'is not an address'
        WHEN v_parts[1] = '' OR v_parts[1] ~ '^[.]|[.]$|[.][.]' THEN 'has an empty part before the @'
        WHEN v_parts[1] ~ E'[][()<>,;:"\\\\ \\u00a0\\u00ad\\u1680\\u2000-\\u200f\\u202a-\\u202f\\u205f-\\u206f\\u3000\\ufeff]'
            THEN 'has a character before the @ that is not accepted there'
        WHEN octet_length(v_parts[1]) > 64 THEN 'has more than 64 octets before the @'
        WHEN NOT pgrelay_notifier._is_domain(v_parts[2]) THEN 'has no domain name after the @'
        WHEN octet_length(v_parts[1]) + 1 + octet_length(v_parts[2]) > 254 THEN 'has more than 254 octets'
    END;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._address_problem(text, boolean) IS 'What is wrong with an address; NULL for a good one. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._address_problem(text, boolean) FROM PUBLIC;
