-- Purpose: refuse a message whose keys are well-formed one by one and do not go together, or not with the profile.
-- Parameters: p_profile  the profile that it is sent with; p_message  its keys checked
-- Raises: PN004 malformed message
CREATE FUNCTION pgrelay_notifier._check_together(p_profile pgrelay_notifier.profiles, p_message jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_names      text[] := ARRAY(SELECT lower(h.name) FROM jsonb_object_keys(coalesce(p_message -> 'headers', '{}')) AS h (name));
    v_profile    text[] := ARRAY(SELECT lower(h.name) FROM jsonb_object_keys(coalesce(p_profile.profile -> 'headers', '{}')) AS h (name));
    v_recipients bigint := (
        SELECT sum(CASE jsonb_typeof(r.list) WHEN 'array' THEN jsonb_array_length(r.list) ELSE 1 END)
        FROM unnest(ARRAY[p_message -> 'to', p_message -> 'cc', p_message -> 'bcc']) AS r (list)
        WHERE r.list IS NOT NULL
    );
BEGIN
    IF p_profile.transport = 'webhook' THEN
        IF v_names && v_profile THEN
            PERFORM pgrelay_notifier._refuse_key('message', 'headers', NULL, 'have a name that the profile sets', 'other headers than those of the profile');
        END IF;
        RETURN;
    END IF;
    IF coalesce(v_recipients, 0) = 0 THEN
        PERFORM pgrelay_notifier._refuse_key('message', 'to', NULL, 'is missing', 'at least one recipient in to, cc or bcc');
    ELSIF v_recipients > 1000 THEN
        PERFORM pgrelay_notifier._refuse_key('message', 'to', NULL, format('makes %s recipients with cc and bcc', v_recipients), 'up to 1000 recipients');
    ELSIF p_message ? 'list_unsubscribe' AND v_names && ARRAY['list-unsubscribe', 'list-unsubscribe-post'] THEN
        PERFORM pgrelay_notifier._refuse_key('message', 'list_unsubscribe', NULL, 'is also set in headers', 'one of the two');
    ELSIF p_message ? 'importance' AND 'x-priority' = ANY (v_names) THEN
        PERFORM pgrelay_notifier._refuse_key('message', 'importance', NULL, 'is also set in headers', 'one of the two');
    ELSIF p_profile.transport = 'm365' AND (
        cardinality(v_names) > 5 OR EXISTS (SELECT FROM unnest(v_names) AS h (name) WHERE h.name NOT LIKE 'x-%')
    ) THEN
        PERFORM pgrelay_notifier._refuse_key('message', 'headers', NULL, 'are not what Microsoft Graph takes', 'up to 5 headers named X-*');
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_together(pgrelay_notifier.profiles, jsonb) IS 'Refuses a message whose keys do not go together. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_together(pgrelay_notifier.profiles, jsonb) FROM PUBLIC;
