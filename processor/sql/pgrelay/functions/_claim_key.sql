-- Purpose: key of the advisory lock that is the claim of a notify event (its row stays unlocked while the send lasts).
-- Parameters: p_queue_id
CREATE FUNCTION pgrelay._claim_key(p_queue_id bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY INVOKER
AS $$ SELECT pg_catalog.hashint8extended(p_queue_id, 4) $$;
COMMENT ON FUNCTION pgrelay._claim_key(bigint) IS 'Advisory lock key of the claim of a notify event. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._claim_key(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay._claim_key(bigint) TO pgrelay_processor, pgrelay_admin;
