-- Purpose: change a channel; it binds at the next claim. NULL leaves a setting as it is.
-- Parameters: p_channel, then the settings of register(); p_enabled; p_batch  whether its events may share a transaction
-- Raises: PR001 channel not registered, PR003 bad argument
-- Writes: pgrelay.channels; pgrelay.queue (the lane of pending events when the concurrency mode changes)
CREATE FUNCTION pgrelay.update(
    p_channel          text,
    p_action_sql       text     DEFAULT NULL,
    p_max_retries      integer  DEFAULT NULL,
    p_concurrency_mode text     DEFAULT NULL,
    p_enabled          boolean  DEFAULT NULL,
    p_node_restricted  boolean  DEFAULT NULL,
    p_action_timeout   interval DEFAULT NULL,
    p_batch            boolean  DEFAULT NULL,
    p_description      text     DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_channel pgrelay.channels;
BEGIN
    SELECT c.* INTO v_channel FROM pgrelay.channels AS c WHERE c.channel = p_channel FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001',
            MESSAGE = format('channel %L is not registered', p_channel),
            HINT = 'Register it first: SELECT pgrelay.register(channel, action_sql).';
    END IF;
    v_channel.action_sql := coalesce(p_action_sql, v_channel.action_sql);
    v_channel.max_retries := coalesce(p_max_retries, v_channel.max_retries);
    v_channel.concurrency_mode := coalesce(p_concurrency_mode, v_channel.concurrency_mode);
    v_channel.enabled := coalesce(p_enabled, v_channel.enabled);
    v_channel.node_restricted := coalesce(p_node_restricted, v_channel.node_restricted);
    v_channel.action_timeout := coalesce(p_action_timeout, v_channel.action_timeout);
    v_channel.batch := coalesce(p_batch, v_channel.batch);
    v_channel.description := coalesce(p_description, v_channel.description);
    PERFORM pgrelay._check_channel(v_channel);
    UPDATE pgrelay.channels AS c
    SET action_sql = v_channel.action_sql,
        max_retries = v_channel.max_retries,
        concurrency_mode = v_channel.concurrency_mode,
        enabled = v_channel.enabled,
        node_restricted = v_channel.node_restricted,
        action_timeout = v_channel.action_timeout,
        batch = v_channel.batch,
        description = v_channel.description,
        updated_at = clock_timestamp()
    WHERE c.channel = p_channel;
    IF p_concurrency_mode IS NOT NULL THEN
        -- What is claimed or shared right now keeps its old lane; the claim that meets it next moves it.
        UPDATE pgrelay.queue AS q
        SET lane = pgrelay._lane(v_channel.concurrency_mode, q.channel, q.node, q.twin_key)
        WHERE q.id IN (
            SELECT p.id
            FROM pgrelay.queue AS p
            WHERE p.status = 'pending'
              AND p.channel = p_channel
              AND p.lane IS DISTINCT FROM pgrelay._lane(v_channel.concurrency_mode, p.channel, p.node, p.twin_key)
            FOR UPDATE SKIP LOCKED
        );
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay.update(text, text, integer, text, boolean, boolean, interval, boolean, text) IS 'Changes a channel; NULL leaves a setting as it is. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay.update(text, text, integer, text, boolean, boolean, interval, boolean, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.update(text, text, integer, text, boolean, boolean, interval, boolean, text) TO pgrelay_admin;
