-- Purpose: have an unclaimed pending event resolved as expired. The Processor does it, so that it is logged and reported like any other end.
-- Parameters: p_queue_id
-- Returns: true when it will be expired; false, at once, when it is claimed, shared by a deduplicated call that has not committed, finished or unknown
-- Writes: pgrelay.queue (expire_at, run_at)
CREATE FUNCTION pgrelay.kill(p_queue_id bigint)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_action_type text;
BEGIN
    SELECT q.action_type INTO v_action_type
    FROM pgrelay.queue AS q
    WHERE q.id = p_queue_id AND q.status = 'pending'
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- The claim of a notify event is an advisory lock: its row is free while the send lasts.
    IF v_action_type = 'notify' AND NOT pg_try_advisory_xact_lock(pgrelay._claim_key(p_queue_id)) THEN
        RETURN false;
    END IF;
    UPDATE pgrelay.queue AS q
    SET expire_at = '-infinity', run_at = least(q.run_at, now())
    WHERE q.id = p_queue_id;
    PERFORM pgrelay._wake(v_action_type);
    RETURN true;
END
$$;
COMMENT ON FUNCTION pgrelay.kill(bigint) IS 'Has an unclaimed pending event resolved as expired. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay.kill(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.kill(bigint) TO pgrelay_admin, pgrelay_processor;
