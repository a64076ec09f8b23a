-- Purpose: name a way for notifications to travel.
-- Parameters: p_name         1 to 200 characters, no control characters
--             p_transport    smtp, m365 or webhook
--             p_profile      settings of the transport; secrets as references, _env:NAME
--             p_channel      a registered channel of action_type notify; the default one is registered (max_retries 2) where it is missing
--             p_description  free text
-- Raises: PN002 profile exists, PN003 malformed profile, PN008 unusable channel, PN009 bad argument, PN011 literal secret
-- Reads: pgrelay.channels   Writes: pgrelay_notifier.profiles, pgrelay.channels
CREATE FUNCTION pgrelay_notifier.create_profile(
    p_name        text,
    p_transport   text,
    p_profile     jsonb,
    p_channel     text DEFAULT 'pg_relay_notifier.send',
    p_description text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_channel text := coalesce(p_channel, 'pg_relay_notifier.send');
BEGIN
    IF p_name IS NULL OR char_length(p_name) NOT BETWEEN 1 AND 200 OR pgrelay_notifier._has_control(p_name) THEN
        PERFORM pgrelay_notifier._refuse('bad argument', 'the name of a profile must be 1 to 200 characters without control characters',
            format('p_name = %L', left(p_name, 220)), 'For example: alerts.');
    END IF;
    PERFORM pgrelay_notifier._check_profile(p_transport, p_profile);
    PERFORM pgrelay_notifier._use_channel(v_channel);
    INSERT INTO pgrelay_notifier.profiles AS p (name, transport, channel, profile, description)
    VALUES (p_name, p_transport, v_channel, p_profile, p_description)
    ON CONFLICT (name) DO NOTHING;
    IF NOT FOUND THEN
        PERFORM pgrelay_notifier._refuse('profile exists', format('profile %L exists already', p_name), format('p_name = %L', p_name),
            'Change it with SELECT pgrelay_notifier.update_profile(name, profile).');
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.create_profile(text, text, jsonb, text, text) IS 'Creates a profile. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.create_profile(text, text, jsonb, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.create_profile(text, text, jsonb, text, text) TO pgrelay_notifier_admin;
