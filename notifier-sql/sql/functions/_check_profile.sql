-- Purpose: what create_profile() and update_profile() refuse.
-- Parameters: p_transport, p_profile
-- Raises: PN003 malformed profile, PN011 literal secret. WARNING for a login without encryption
CREATE FUNCTION pgrelay_notifier._check_profile(p_transport text, p_profile jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
BEGIN
    IF p_transport IS NULL OR p_transport NOT IN ('smtp', 'm365', 'webhook') THEN
        PERFORM pgrelay_notifier._refuse_key('profile', 'transport', to_jsonb(p_transport), 'is unknown', 'smtp, m365 or webhook');
    ELSIF octet_length(p_profile::text) > 65536 THEN
        PERFORM pgrelay_notifier._refuse_key('profile', 'profile', NULL, format('has %s bytes', octet_length(p_profile::text)), 'up to 65536 bytes');
    END IF;
    PERFORM pgrelay_notifier._check_fields('profile', p_transport, NULL, p_profile);
    PERFORM pgrelay_notifier._check_nesting('profile', p_profile);
    IF p_transport = 'smtp' THEN
        IF (p_profile ? 'username') <> (p_profile ? 'password') THEN
            PERFORM pgrelay_notifier._refuse_key('profile', CASE WHEN p_profile ? 'username' THEN 'password' ELSE 'username' END, NULL,
                'is missing', 'username and password together, or neither');
        ELSIF p_profile ->> 'auth' = 'xoauth2' AND NOT p_profile ? 'username' THEN
            PERFORM pgrelay_notifier._refuse_key('profile', 'username', NULL, 'is missing', 'a username, and the access token as password');
        ELSIF p_profile ->> 'security' = 'none' AND p_profile ? 'username' THEN
            RAISE WARNING USING MESSAGE = 'the login of this profile travels without encryption',
                DETAIL = 'security = none, with a username', HINT = 'Use starttls or tls.';
        END IF;
    ELSIF p_transport = 'webhook' AND p_profile ->> 'url' ~ '^http:' AND p_profile -> 'allow_private_network' IS DISTINCT FROM 'true' THEN
        PERFORM pgrelay_notifier._refuse_key('profile', 'url', NULL, 'is not https',
            'https://; or http:// together with "allow_private_network": true');
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_profile(text, jsonb) IS 'Refuses a malformed profile. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_profile(text, jsonb) FROM PUBLIC;
