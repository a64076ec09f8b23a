-- Purpose: the registry of channels. Claims join it, so a change binds at the next claim.
CREATE TABLE pgrelay.channels (
    channel          text        NOT NULL,
    action_type      text        NOT NULL,
    action_sql       text,
    max_retries      integer     NOT NULL,
    concurrency_mode text        NOT NULL,
    node_restricted  boolean     NOT NULL,
    action_timeout   interval,
    batch            boolean     NOT NULL DEFAULT true,
    enabled          boolean     NOT NULL DEFAULT true,
    description      text,
    created_at       timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    updated_at       timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    CONSTRAINT channels_pkey PRIMARY KEY (channel),
    CONSTRAINT channels_channel_shape CHECK (pg_catalog.char_length(channel) BETWEEN 1 AND 200
                                             AND channel !~ '[[:cntrl:]]'),
    CONSTRAINT channels_action_type CHECK (action_type IN ('sql', 'notify')),
    CONSTRAINT channels_action_sql CHECK ((action_type = 'sql') = (action_sql IS NOT NULL)),
    CONSTRAINT channels_max_retries CHECK (max_retries BETWEEN 0 AND 1000),
    CONSTRAINT channels_concurrency_mode CHECK (concurrency_mode IN ('parallel', 'serial', 'per_payload')),
    CONSTRAINT channels_action_timeout CHECK (action_timeout > interval '0')
);
COMMENT ON TABLE pgrelay.channels IS 'Registered channels and what each of them does.';
COMMENT ON COLUMN pgrelay.channels.channel IS 'Name, 1 to 200 characters, no control characters.';
COMMENT ON COLUMN pgrelay.channels.action_type IS 'sql: action_sql is run; notify: the event is handed to the notifier.';
COMMENT ON COLUMN pgrelay.channels.action_sql IS 'One statement; $1, if it is there, is the payload.';
COMMENT ON COLUMN pgrelay.channels.max_retries IS 'Retries after the first attempt, 0 to 1000.';
COMMENT ON COLUMN pgrelay.channels.concurrency_mode IS 'parallel, serial (one event at a time) or per_payload (one at a time for each payload), over the whole fleet.';
COMMENT ON COLUMN pgrelay.channels.node_restricted IS 'An event is claimed only on the node that enqueued it.';
COMMENT ON COLUMN pgrelay.channels.action_timeout IS 'Limit of one attempt; NULL means five minutes.';
COMMENT ON COLUMN pgrelay.channels.batch IS 'Whether several events of this channel may share one transaction.';
COMMENT ON COLUMN pgrelay.channels.enabled IS 'Events of a disabled channel resolve as invalid when they are due.';
COMMENT ON COLUMN pgrelay.channels.description IS 'Free text for people.';
COMMENT ON COLUMN pgrelay.channels.created_at IS 'When the channel was registered.';
COMMENT ON COLUMN pgrelay.channels.updated_at IS 'When it was last changed.';
REVOKE ALL ON TABLE pgrelay.channels FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay.channels TO pgrelay_admin, pgrelay_processor, pgrelay_monitor;
