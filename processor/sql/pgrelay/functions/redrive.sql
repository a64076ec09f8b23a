-- Purpose: try again an event that ended in error: a new event with the same channel and payload, linked by parent_id.
-- Parameters: p_queue_id
-- Returns: id of the new event
-- Raises: PR001 channel no longer registered, PR005 the event did not end in error
-- Reads: pgrelay.channels   Writes: pgrelay.queue
CREATE FUNCTION pgrelay.redrive(p_queue_id bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_old     pgrelay.queue;
    v_channel pgrelay.channels;
    v_id      bigint;
BEGIN
    SELECT q.* INTO v_old FROM pgrelay.queue AS q WHERE q.id = p_queue_id;
    IF NOT FOUND OR v_old.status <> 'error' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR005',
            MESSAGE = format('event %s cannot be redriven', p_queue_id),
            DETAIL = CASE WHEN v_old.id IS NULL THEN 'There is no such event.' ELSE format('Its status is %s.', v_old.status) END,
            HINT = 'Only events that ended in error can be redriven.';
    END IF;
    v_channel := pgrelay._channel_for_call(v_old.channel, 0);
    INSERT INTO pgrelay.queue (channel, action_type, payload, run_at, node, twin_key, lane, parent_id)
    VALUES (
        v_old.channel,
        v_channel.action_type,
        v_old.payload,
        now(),
        v_old.node,
        v_old.twin_key,
        pgrelay._lane(v_channel.concurrency_mode, v_old.channel, v_old.node, v_old.twin_key),
        v_old.id
    )
    RETURNING id INTO v_id;
    PERFORM pgrelay._wake(v_channel.action_type);
    RETURN v_id;
END
$$;
COMMENT ON FUNCTION pgrelay.redrive(bigint) IS 'Enqueues again an event that ended in error. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay.redrive(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.redrive(bigint) TO pgrelay_admin;
