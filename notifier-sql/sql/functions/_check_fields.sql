-- Purpose: refuse an object whose known keys are not all as they should be. Unknown keys are let through, for releases to come.
-- Parameters: p_subject  profile or message; p_of  whose keys, of _fields(); p_place  where the object is, NULL at the top; p_object
-- Raises: PN003, PN004, PN011
CREATE FUNCTION pgrelay_notifier._check_fields(p_subject text, p_of text, p_place text, p_object jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_field record;
    v_key   text;
    v_prefix text := coalesce(p_place || '.', '');
BEGIN
    IF p_object IS NULL OR jsonb_typeof(p_object) <> 'object' THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, coalesce(p_place, p_subject), NULL, 'is not a JSON object', '{"key": value}');
    END IF;
    SELECT k.key INTO v_key FROM jsonb_object_keys(p_object) AS k (key) WHERE p_place IS NULL AND starts_with(k.key, '_') LIMIT 1;
    IF FOUND THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, left(v_key, 100), NULL, 'is reserved', 'keys that do not begin with an underscore');
    END IF;
    FOR v_field IN SELECT f.* FROM pgrelay_notifier._fields(p_of) AS f LOOP
        v_key := v_prefix || v_field.key;
        IF p_object ? v_field.key THEN
            PERFORM pgrelay_notifier._check_field(p_subject, v_key, v_field.kind, v_field.low, v_field.high, v_field.choices,
                p_object -> v_field.key);
        ELSIF v_field.required THEN
            PERFORM pgrelay_notifier._refuse_key(p_subject, v_key, NULL, 'is missing', format('a value for %s', v_key));
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_fields(text, text, text, jsonb) IS 'Refuses an object whose known keys are not as they should be. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_fields(text, text, text, jsonb) FROM PUBLIC;
