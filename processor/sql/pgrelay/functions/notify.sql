-- Purpose: enqueue one event in the caller's transaction; its channel's action runs after commit.
-- Parameters: channel        a registered channel
--             payload        up to 16 MiB, bound to $1 of the action; may be NULL
--             run_at         not before this time; NULL: now
--             expire_at      not at or after this time; NULL: never. The past is accepted and judged at the claim
--             p_deduplicate  be served by a pending event of the same channel and payload that runs no later, if there is one
-- Returns: id of the event that will serve the call
-- Raises: PR001 channel not registered, PR004 payload too large
-- Reads: pgrelay.channels, pgrelay.node   Writes: pgrelay.queue
CREATE FUNCTION pgrelay.notify(
    channel       text,
    payload       text        DEFAULT NULL,
    run_at        timestamptz DEFAULT pg_catalog.now(),
    expire_at     timestamptz DEFAULT NULL,
    p_deduplicate boolean     DEFAULT false
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_action_type text;
    v_mode        text;
    v_restricted  boolean;
    v_run_at      timestamptz := coalesce(notify.run_at, now());
    v_deduplicate boolean     := coalesce(notify.p_deduplicate, false);
    v_node        text;
    v_twin_key    bigint;
    v_id          bigint;
BEGIN
    -- Written out here, not called: this function is on every producer's path, and each nested call costs it a tenth of its rate.
    SELECT c.action_type, c.concurrency_mode, c.node_restricted
    INTO v_action_type, v_mode, v_restricted
    FROM pgrelay.channels AS c
    WHERE c.channel = notify.channel;
    IF v_action_type IS NULL OR octet_length(notify.payload) > 16777216 THEN
        PERFORM pgrelay._channel_for_call(notify.channel, octet_length(notify.payload));
    END IF;
    IF v_restricted THEN
        v_node := pgrelay.node_name();
    END IF;
    v_twin_key := pgrelay._twin_key(notify.channel, v_node, notify.payload);
    -- Under REPEATABLE READ and SERIALIZABLE the look-up would raise 40001 in the caller, and a notify event is claimed
    -- without a row lock, which is what the look-up relies on: both insert.
    IF v_deduplicate AND v_action_type = 'sql' AND current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN
        v_id := pgrelay._find_twin(notify.channel, notify.payload, v_twin_key, v_run_at, notify.expire_at);
        IF v_id IS NOT NULL THEN
            RETURN v_id;
        END IF;
    END IF;
    INSERT INTO pgrelay.queue (channel, action_type, payload, run_at, expire_at, node, deduplicate, twin_key, lane)
    VALUES (
        notify.channel,
        v_action_type,
        notify.payload,
        v_run_at,
        notify.expire_at,
        v_node,
        v_deduplicate,
        v_twin_key,
        pgrelay._lane(v_mode, notify.channel, v_node, v_twin_key)
    )
    RETURNING id INTO v_id;
    -- An event for later needs no wake-up: sleepers look again within a second.
    IF v_run_at <= clock_timestamp() THEN
        -- As in _wake(): NOTIFY only when a Processor sleeps.
        IF v_action_type = 'sql' THEN
            IF NOT (pg_try_advisory_lock(5283401) AND pg_advisory_unlock(5283401))
               AND (pg_try_advisory_lock_shared(5283401) AND pg_advisory_unlock_shared(5283401)) THEN
                PERFORM pg_notify('pgrelay_sql', '');
            END IF;
        ELSE
            PERFORM pgrelay._wake(v_action_type);
        END IF;
    END IF;
    RETURN v_id;
END
$$;
COMMENT ON FUNCTION pgrelay.notify(text, text, timestamptz, timestamptz, boolean) IS 'Enqueues an event in the calling transaction and returns the id of the event that will serve the call. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay.notify(text, text, timestamptz, timestamptz, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.notify(text, text, timestamptz, timestamptz, boolean) TO pgrelay_producer;
