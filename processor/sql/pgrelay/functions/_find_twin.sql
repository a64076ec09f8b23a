-- Purpose: the twin that will serve a deduplicated call, share-locked until the caller commits, or NULL.
--          A row that can be share-locked is unclaimed and stays so until then, because everything that claims or ends an event
--          takes FOR UPDATE first. SKIP LOCKED: a claimed twin never makes the caller wait.
--          Never a twin: a retry, one that expires earlier, one that is closed, one claimed by the calling transaction.
-- Parameters: p_channel, p_payload, p_twin_key, p_run_at, p_expire_at of the call
-- Returns: id or NULL
-- Reads: pgrelay.queue (locks the row FOR KEY SHARE), pgrelay.twin_floor
CREATE FUNCTION pgrelay._find_twin(
    p_channel   text,
    p_payload   text,
    p_twin_key  bigint,
    p_run_at    timestamptz,
    p_expire_at timestamptz
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    -- Set by the Processor for the transaction of an action, which holds claims.
    v_holds_claims boolean := coalesce(current_setting('pgrelay.event_id', true), '') <> '';
    v_floor        timestamptz;
    v_twin         bigint;
BEGIN
    SELECT to_timestamp(f.last_value / 1000.0) INTO v_floor FROM pgrelay.twin_floor AS f;
    SELECT q.id INTO v_twin
    FROM pgrelay.queue AS q
    WHERE q.status = 'pending'
      AND q.twin_key = p_twin_key
      AND q.run_at >= v_floor
      AND q.run_at <= p_run_at
      AND q.retry_count = 0
      AND NOT q.closed
      AND (q.expire_at IS NULL OR q.expire_at >= p_expire_at)
      AND q.channel = p_channel
      AND q.payload IS NOT DISTINCT FROM p_payload
      -- A row this transaction has claimed carries its id in xmax. So does one that an earlier call of the same action shares; mistaking
      -- that one for a claim costs a twin too many, which the claim folds.
      AND NOT (v_holds_claims AND q.xmax = pg_current_xact_id()::xid)
    ORDER BY q.run_at
    LIMIT 1
    FOR KEY SHARE OF q SKIP LOCKED;
    RETURN v_twin;
END
$$;
COMMENT ON FUNCTION pgrelay._find_twin(text, text, bigint, timestamptz, timestamptz) IS 'Twin that will serve a deduplicated call. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._find_twin(text, text, bigint, timestamptz, timestamptz) FROM PUBLIC;
