-- Purpose: the domain of a Message-ID (RFC 5322 section 3.6.4): that of the sender where it is known here and written in ASCII.
-- Parameters: p_profile  of transport smtp or m365
-- Returns: the first that serves of: from, sender, envelope_from, helo_name, host; else a name that can never belong to anybody (RFC 2606)
CREATE FUNCTION pgrelay_notifier._message_domain(p_profile jsonb)
RETURNS text
LANGUAGE sql IMMUTABLE SECURITY INVOKER
AS $$
    SELECT coalesce((
        SELECT lower(d.domain)
        FROM (VALUES ('from', 1), ('sender', 2), ('envelope_from', 3), ('helo_name', 4), ('host', 5)) AS k (key, place)
        CROSS JOIN LATERAL substring(p_profile ->> k.key FROM E'([^@<> \\t]+)>?[ \\t]*$') AS d (domain)
        WHERE NOT pgrelay_notifier._is_reference(p_profile ->> k.key)
          -- A name with a dot whose last label is no number: neither localhost nor an IP address.
          AND d.domain ~ '^[A-Za-z0-9.-]+[.][A-Za-z][A-Za-z0-9-]*$'
          AND d.domain !~* '[.]localhost$|[.]localdomain$'
        ORDER BY k.place
        LIMIT 1
    ), 'pg-relay.invalid')
$$;
COMMENT ON FUNCTION pgrelay_notifier._message_domain(jsonb) IS 'Domain of the Message-IDs of a profile. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._message_domain(jsonb) FROM PUBLIC;
