-- Purpose: refuse a profile that a call is not made for. An unknown profile is left to _send().
-- Parameters: p_profile; p_transports  those that are accepted
-- Raises: PN009 bad argument
-- Reads: pgrelay_notifier.profiles
CREATE FUNCTION pgrelay_notifier._check_transport(p_profile text, p_transports text[])
RETURNS void
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
DECLARE
    v_transport text;
BEGIN
    SELECT p.transport INTO v_transport FROM pgrelay_notifier.profiles AS p WHERE p.name = p_profile;
    IF v_transport <> ALL (p_transports) THEN
        PERFORM pgrelay_notifier._refuse('bad argument', format('profile %L is of another transport', p_profile),
            format('p_profile = %L, transport = %L', p_profile, v_transport),
            format('Name a profile of transport %s, or use pgrelay_notifier.send(profile, message).', array_to_string(p_transports, ' or ')));
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_transport(text, text[]) IS 'Refuses a profile that a call is not made for. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_transport(text, text[]) FROM PUBLIC;
