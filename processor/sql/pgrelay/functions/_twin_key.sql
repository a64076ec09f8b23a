-- Purpose: the hash that twins (same channel, node and payload) share; also the lane of a per_payload channel.
-- Parameters: p_channel, p_node (NULL: any node), p_payload
-- Returns: 64-bit hash. A NULL payload and an empty one differ.
CREATE FUNCTION pgrelay._twin_key(p_channel text, p_node text, p_payload text)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$
    SELECT CASE
        WHEN p_payload IS NULL
        THEN pg_catalog.hashtextextended(p_channel OPERATOR(pg_catalog.||) COALESCE(E'\n' OPERATOR(pg_catalog.||) p_node, ''), 2)
        ELSE pg_catalog.hashtextextended(p_payload,
            pg_catalog.hashtextextended(p_channel OPERATOR(pg_catalog.||) COALESCE(E'\n' OPERATOR(pg_catalog.||) p_node, ''), 1))
    END
$$;
COMMENT ON FUNCTION pgrelay._twin_key(text, text, text) IS 'Hash of channel, node and payload. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._twin_key(text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay._twin_key(text, text, text) TO pgrelay_processor;
