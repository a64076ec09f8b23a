-- Purpose: refuse a list, or the single value that may stand for one.
-- Parameters: p_subject, p_key  as for _refuse_key(); p_kind  addresses, uris, domains or backoff; p_low, p_high  of _fields(); p_value
-- Raises: PN003, PN004
CREATE FUNCTION pgrelay_notifier._check_list(p_subject text, p_key text, p_kind text, p_low bigint, p_high bigint, p_value jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_type   text    := CASE p_kind WHEN 'backoff' THEN 'number' ELSE 'string' END;
    v_single boolean := jsonb_typeof(p_value) = v_type AND p_kind <> 'domains';
    v_least  integer := CASE p_kind WHEN 'backoff' THEN 1 ELSE 0 END;
    v_most   integer := CASE p_kind WHEN 'backoff' THEN 20 WHEN 'uris' THEN 10 ELSE 1000 END;
    v_place  text    := p_key;
    v_item   jsonb;
    v_number bigint;
BEGIN
    IF NOT v_single AND jsonb_typeof(p_value) <> 'array' THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, p_value, format('is neither a %s nor an array', v_type),
            format('an array of %s to %s, or one %s by itself', v_least, v_most, v_type));
    ELSIF NOT v_single AND jsonb_array_length(p_value) NOT BETWEEN v_least AND v_most THEN
        PERFORM pgrelay_notifier._refuse_key(p_subject, p_key, NULL, format('has %s elements', jsonb_array_length(p_value)),
            format('%s to %s elements', v_least, v_most));
    END IF;
    FOR v_item, v_number IN
        SELECT e.item, e.number
        FROM jsonb_array_elements(CASE WHEN v_single THEN jsonb_build_array(p_value) ELSE p_value END) WITH ORDINALITY AS e (item, number)
    LOOP
        IF NOT v_single THEN
            v_place := format('%s[%s]', p_key, v_number);
        END IF;
        IF p_kind = 'backoff' THEN
            PERFORM pgrelay_notifier._check_integer(p_subject, v_place, p_low, p_high, v_item);
        ELSE
            PERFORM pgrelay_notifier._check_field(p_subject, v_place,
                CASE p_kind WHEN 'addresses' THEN 'address' WHEN 'uris' THEN 'uri' ELSE 'domain' END, NULL, NULL, NULL, v_item);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_list(text, text, text, bigint, bigint, jsonb) IS 'Refuses a list that its key does not take. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_list(text, text, text, bigint, bigint, jsonb) FROM PUBLIC;
