-- Purpose: refuse what the Processor's parser would refuse at every attempt, or take for something else than it is.
-- Parameters: p_subject  profile or message; p_object  a JSON object
-- Raises: PN003, PN004
CREATE FUNCTION pgrelay_notifier._check_nesting(p_subject text, p_object jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_key text;
BEGIN
    -- The depth first: what follows descends as far as the value goes. Parsers give up at 128; the object itself is one of the 100.
    SELECT e.key INTO v_key
    FROM jsonb_each(p_object) AS e
    WHERE jsonb_path_exists(e.value, 'strict $.**{99} ? (@.type() == "object" || @.type() == "array")')
    LIMIT 1;
    IF FOUND THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, left(v_key, 100), NULL, 'is nested more than 100 deep',
            'up to 100 objects and arrays within each other, the outermost included');
    END IF;
    -- Serde, which the Processor reads JSON with, writes numbers of any length as an object of this key within itself.
    SELECT e.key INTO v_key
    FROM jsonb_each(p_object) AS e
    WHERE e.key = '$serde_json::private::Number' OR jsonb_path_exists(e.value, '$.**."$serde_json::private::Number"')
    LIMIT 1;
    IF FOUND THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, left(v_key, 100), NULL, 'holds the key "$serde_json::private::Number"',
            'any other key; the Processor takes an object with this one for a number');
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_nesting(text, jsonb) IS 'Refuses JSON that the Processor could not read. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_nesting(text, jsonb) FROM PUBLIC;
