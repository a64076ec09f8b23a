-- Purpose: register a channel. It can be used in the same transaction.
-- Parameters: channel           1 to 200 characters, no control characters
--             action_sql        one statement, $1 is the payload (action_type sql); it is not parsed here
--             max_retries       0 to 1000 retries after transient failures
--             action_type       sql or notify
--             concurrency_mode  parallel, serial or per_payload
--             node_restricted   events run only on the node that enqueued them
--             action_timeout    limit of one attempt; NULL: five minutes
--             description       free text
-- Raises: PR002 channel exists, PR003 bad argument
-- Writes: pgrelay.channels
CREATE FUNCTION pgrelay.register(
    channel          text,
    action_sql       text     DEFAULT NULL,
    max_retries      integer  DEFAULT 0,
    action_type      text     DEFAULT 'sql',
    concurrency_mode text     DEFAULT 'parallel',
    node_restricted  boolean  DEFAULT false,
    action_timeout   interval DEFAULT NULL,
    description      text     DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_channel pgrelay.channels;
BEGIN
    v_channel.channel := register.channel;
    v_channel.action_type := register.action_type;
    v_channel.action_sql := register.action_sql;
    v_channel.max_retries := register.max_retries;
    v_channel.concurrency_mode := register.concurrency_mode;
    v_channel.node_restricted := register.node_restricted;
    v_channel.action_timeout := register.action_timeout;
    PERFORM pgrelay._check_channel(v_channel);
    INSERT INTO pgrelay.channels AS c
        (channel, action_type, action_sql, max_retries, concurrency_mode, node_restricted, action_timeout, description)
    VALUES (
        register.channel,
        register.action_type,
        register.action_sql,
        register.max_retries,
        register.concurrency_mode,
        register.node_restricted,
        register.action_timeout,
        register.description
    )
    ON CONFLICT (channel) DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR002',
            MESSAGE = format('channel %L is already registered', register.channel),
            HINT = 'Change it with SELECT pgrelay.update(channel, …).';
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay.register(text, text, integer, text, text, boolean, interval, text) IS 'Registers a channel. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay.register(text, text, integer, text, text, boolean, interval, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.register(text, text, integer, text, text, boolean, interval, text) TO pgrelay_admin;
