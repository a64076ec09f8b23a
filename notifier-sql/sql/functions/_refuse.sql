-- Purpose: raise an error of the notifier. The one place that lists its SQLSTATEs; the README explains them.
-- Parameters: p_reason  a reason of the list; p_message, p_detail, p_hint  never a secret, a subject or a body
-- Raises: always
CREATE FUNCTION pgrelay_notifier._refuse(p_reason text, p_message text, p_detail text, p_hint text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = CASE p_reason
            WHEN 'unknown profile' THEN 'PN001'
            WHEN 'profile exists' THEN 'PN002'
            WHEN 'malformed profile' THEN 'PN003'
            WHEN 'malformed message' THEN 'PN004'
            WHEN 'message too large' THEN 'PN005'
            WHEN 'profile in use' THEN 'PN006'
            WHEN 'unknown notification' THEN 'PN007'
            WHEN 'unusable channel' THEN 'PN008'
            WHEN 'bad argument' THEN 'PN009'
            -- PN010, a queue that is missing or not ours, is raised by roles.sql before anything of this is there.
            WHEN 'literal secret' THEN 'PN011'
            WHEN 'isolation level' THEN 'PN012'
        END,
        MESSAGE = p_message,
        DETAIL = p_detail,
        HINT = p_hint;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._refuse(text, text, text, text) IS 'Raises an error of the notifier; lists its SQLSTATEs. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._refuse(text, text, text, text) FROM PUBLIC;
