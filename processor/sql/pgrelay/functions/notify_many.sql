-- Purpose: enqueue many events of one channel with one statement.
-- Parameters: channel, run_at, expire_at as in notify(); payloads  one event each, NULL elements allowed
-- Returns: number of events
-- Raises: PR001 channel not registered, PR004 payload too large
-- Reads: pgrelay.channels, pgrelay.node   Writes: pgrelay.queue
CREATE FUNCTION pgrelay.notify_many(
    channel   text,
    payloads  text[],
    run_at    timestamptz DEFAULT pg_catalog.now(),
    expire_at timestamptz DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_channel pgrelay.channels;
    v_run_at  timestamptz := coalesce(notify_many.run_at, now());
    v_largest integer;
    v_node    text;
    v_count   bigint;
BEGIN
    SELECT max(octet_length(p.payload)) INTO v_largest FROM unnest(notify_many.payloads) AS p (payload);
    v_channel := pgrelay._channel_for_call(notify_many.channel, v_largest);
    IF v_channel.node_restricted THEN
        v_node := pgrelay.node_name();
    END IF;
    INSERT INTO pgrelay.queue (channel, action_type, payload, run_at, expire_at, node, twin_key, lane)
    SELECT
        notify_many.channel,
        v_channel.action_type,
        p.payload,
        v_run_at,
        notify_many.expire_at,
        v_node,
        k.twin_key,
        pgrelay._lane(v_channel.concurrency_mode, notify_many.channel, v_node, k.twin_key)
    FROM unnest(notify_many.payloads) WITH ORDINALITY AS p (payload, place)
    CROSS JOIN LATERAL pgrelay._twin_key(notify_many.channel, v_node, p.payload) AS k (twin_key)
    ORDER BY p.place;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count > 0 AND v_run_at <= clock_timestamp() THEN
        PERFORM pgrelay._wake(v_channel.action_type);
    END IF;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION pgrelay.notify_many(text, text[], timestamptz, timestamptz) IS 'Enqueues one event for each payload and returns how many. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay.notify_many(text, text[], timestamptz, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.notify_many(text, text[], timestamptz, timestamptz) TO pgrelay_producer;
