-- Purpose: the lane of an event, from its channel's concurrency mode.
-- Parameters: p_mode, p_channel, p_node, p_twin_key (the event's)
-- Returns: key of the advisory lock of the lane; NULL for parallel
CREATE FUNCTION pgrelay._lane(p_mode text, p_channel text, p_node text, p_twin_key bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$
    SELECT CASE p_mode
        WHEN 'serial'
        THEN pg_catalog.hashtextextended(p_channel OPERATOR(pg_catalog.||) COALESCE(E'\n' OPERATOR(pg_catalog.||) p_node, ''), 3)
        WHEN 'per_payload'
        THEN p_twin_key
    END
$$;
COMMENT ON FUNCTION pgrelay._lane(text, text, text, bigint) IS 'Lane of an event. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._lane(text, text, text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay._lane(text, text, text, bigint) TO pgrelay_processor;
