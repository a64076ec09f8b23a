-- Purpose: refuse what is not a whole number in a range.
-- Parameters: p_subject, p_key  as for _refuse_key(); p_low, p_high  NULL: as far as a bigint goes; p_value
-- Raises: PN003, PN004
CREATE FUNCTION pgrelay_notifier._check_integer(p_subject text, p_key text, p_low bigint, p_high bigint, p_value jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    -- 30.0 is none: what reads JSON elsewhere takes it for a fraction.
    v_whole  boolean := jsonb_typeof(p_value) = 'number' AND p_value::text ~ '^-?[0-9]+$';
    v_number numeric := CASE WHEN v_whole THEN p_value::numeric END;
BEGIN
    IF NOT v_whole OR v_number NOT BETWEEN p_low AND coalesce(p_high, 9223372036854775807) THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, p_value, 'is not a whole number in its range',
            CASE WHEN p_high IS NULL THEN format('a whole number from %s', p_low) ELSE format('a whole number from %s to %s', p_low, p_high) END);
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_integer(text, text, bigint, bigint, jsonb) IS 'Refuses what is not a whole number in a range. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_integer(text, text, bigint, bigint, jsonb) FROM PUBLIC;
