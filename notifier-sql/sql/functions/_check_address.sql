-- Purpose: refuse what is not an address.
-- Parameters: p_subject, p_key  as for _refuse_key(); p_address; p_bare  whether a name is out of place
-- Raises: PN003, PN004
CREATE FUNCTION pgrelay_notifier._check_address(p_subject text, p_key text, p_address text, p_bare boolean)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_problem text := pgrelay_notifier._address_problem(p_address, p_bare);
BEGIN
    IF v_problem IS NOT NULL THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, to_jsonb(p_address), v_problem,
            CASE WHEN p_bare THEN 'user@example.org' ELSE 'user@example.org or Name <user@example.org>' END);
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_address(text, text, text, boolean) IS 'Refuses what is not an address. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_address(text, text, text, boolean) FROM PUBLIC;
