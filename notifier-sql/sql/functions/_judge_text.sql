-- Purpose: whether a text is what a key of its kind takes, and what would be. One row a kind.
-- Parameters: p_kind, p_low, p_high, p_choices  of _fields(); p_text  without control characters
-- Returns: ok; accepted
CREATE FUNCTION pgrelay_notifier._judge_text(p_kind text, p_low bigint, p_high bigint, p_choices text[], p_text text)
RETURNS TABLE (ok boolean, accepted text)
LANGUAGE sql IMMUTABLE SECURITY INVOKER ROWS 1
AS $$
    SELECT k.ok, k.accepted
    FROM (VALUES
        ('line', char_length(p_text) BETWEEN p_low AND p_high,
            format('%s to %s characters', p_low, p_high)),
        ('choice', p_text = ANY (p_choices),
            array_to_string(p_choices, ', ')),
        ('host', pgrelay_notifier._is_host(p_text) OR pgrelay_notifier._address_family(p_text) = 6,
            'a host name or an IP address, without scheme and port'),
        ('domain', pgrelay_notifier._is_domain(p_text),
            'a domain name, such as example.org'),
        ('helo', pgrelay_notifier._is_domain(p_text)
                 OR pgrelay_notifier._address_family(substring(p_text FROM '^[[](?!IPv6:)(.*)[]]$')) = 4
                 OR pgrelay_notifier._address_family(substring(p_text FROM '^[[]IPv6:(.*)[]]$')) = 6,
            'a domain name, or an address literal such as [192.0.2.1]'),
        ('path', p_text ~ '^/.' AND octet_length(p_text) <= 4096,
            'an absolute path on the host of the Processor'),
        ('return_path', p_text = '' OR pgrelay_notifier._address_problem(p_text, true) IS NULL,
            'user@example.org, or an empty text for the null sender'),
        ('identifier', p_text ~ '^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$',
            'a GUID or a domain name'),
        ('url', p_text ~ '^https?://[^/?#@ ]+([/?][^# ]*)?$' AND octet_length(p_text) <= 8192
                AND pgrelay_notifier._is_authority(substring(p_text FROM '^https?://([^/?]*)')),
            'https://host/path without user, blanks and fragment, the host a name or an IP address'),
        ('base_url', p_text ~ '^(https://[^/?#@ ]+|http://(localhost|127[.][0-9.]+|[[]::1[]])(:[0-9]+)?)(/[^?# ]*)?$'
                     AND pgrelay_notifier._is_authority(substring(p_text FROM '^https?://([^/]*)')) AND char_length(p_text) <= 1000,
            'https://host/path, or http:// on loopback'),
        ('uri', p_text ~ '^(https://[!-~]+|mailto:[!-~]*@[!-~]*)$' AND p_text !~ '[<>,]' AND p_text !~ '^https://([/?#]|[^/?#]*@)'
                AND char_length(p_text) <= 900,
            'a mailto: or https:// address of up to 900 ASCII characters without blanks, commas and angle brackets, or an array of them'),
        ('message_id', p_text ~ '^<[!-;=?A-~]+@[!-;=?A-~]+>$' AND p_text !~* '@localhost>$' AND char_length(p_text) <= 250,
            '<unique@example.org>, up to 250 characters of printable ASCII, the domain not localhost'),
        ('webhook_id', p_text ~ '^[A-Za-z0-9_-]{1,200}$',
            '1 to 200 letters, digits, hyphens and underscores'),
        ('filename', char_length(p_text) BETWEEN 1 AND 255 AND p_text !~ E'[/\\\\]' AND p_text NOT IN ('.', '..'),
            '1 to 255 characters without slashes and backslashes'),
        ('content_type', p_text ~ '^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+( *; *[A-Za-z0-9!#$&^_.+-]+=([A-Za-z0-9!#$&^_.+-]+|"[] !#-[^-~]*"))*$'
                         AND p_text !~* '^(multipart|message)/' AND char_length(p_text) <= 255,
            'type/subtype with parameters, but not multipart/* and message/*'),
        ('content_id', p_text ~ '^[A-Za-z0-9.!#$%&*+/=?^_{|}~@-]{1,200}$',
            '1 to 200 characters of printable ASCII without blanks and angle brackets')
    ) AS k (kind, ok, accepted)
    WHERE k.kind = p_kind
$$;
COMMENT ON FUNCTION pgrelay_notifier._judge_text(text, bigint, bigint, text[], text) IS 'Whether a text is what a key of its kind takes. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._judge_text(text, bigint, bigint, text[], text) FROM PUBLIC;
