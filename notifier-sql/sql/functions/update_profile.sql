-- Purpose: change a profile. Every attempt reads it anew, so the change also holds for what is queued.
-- Parameters: p_name
--             p_profile      replaces all settings; NULL leaves them
--             p_channel      for notifications sent from now on; NULL leaves it
--             p_description  NULL leaves it
-- Raises: PN001 unknown profile, PN003 malformed profile, PN008 unusable channel, PN011 literal secret
-- Reads: pgrelay.channels   Writes: pgrelay_notifier.profiles, pgrelay.channels
CREATE FUNCTION pgrelay_notifier.update_profile(
    p_name        text,
    p_profile     jsonb DEFAULT NULL,
    p_channel     text  DEFAULT NULL,
    p_description text  DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_transport text;
BEGIN
    SELECT p.transport INTO v_transport FROM pgrelay_notifier.profiles AS p WHERE p.name = p_name FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM pgrelay_notifier._refuse('unknown profile', format('profile %L does not exist', p_name), format('p_name = %L', p_name),
            'Create it first: SELECT pgrelay_notifier.create_profile(name, transport, profile).');
    END IF;
    IF p_profile IS NOT NULL THEN
        PERFORM pgrelay_notifier._check_profile(v_transport, p_profile);
    END IF;
    IF p_channel IS NOT NULL THEN
        PERFORM pgrelay_notifier._use_channel(p_channel);
    END IF;
    UPDATE pgrelay_notifier.profiles AS p
    SET profile = coalesce(p_profile, p.profile),
        channel = coalesce(p_channel, p.channel),
        description = coalesce(p_description, p.description),
        updated_at = clock_timestamp()
    WHERE p.name = p_name;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.update_profile(text, jsonb, text, text) IS 'Changes a profile; NULL leaves a setting as it is. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.update_profile(text, jsonb, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.update_profile(text, jsonb, text, text) TO pgrelay_notifier_admin;
