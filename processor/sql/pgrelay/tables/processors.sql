-- Purpose: the registry of running Processors, kept alive by heartbeats on the database's clock.
CREATE TABLE pgrelay.processors (
    id                uuid        NOT NULL,
    host              text        NOT NULL,
    pid               integer     NOT NULL,
    version           text        NOT NULL,
    node              text        NOT NULL,
    state             text        NOT NULL,
    sql_workers       integer     NOT NULL,
    notify_workers    integer     NOT NULL,
    started_at        timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    last_seen         timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    stop_requested_at timestamptz,
    events_ok         bigint      NOT NULL DEFAULT 0,
    events_failed     bigint      NOT NULL DEFAULT 0,
    events_retried    bigint      NOT NULL DEFAULT 0,
    CONSTRAINT processors_pkey PRIMARY KEY (id),
    CONSTRAINT processors_state CHECK (state IN ('starting', 'running', 'paused', 'draining'))
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 200,
    autovacuum_vacuum_scale_factor = 0
);
COMMENT ON TABLE pgrelay.processors IS 'Running Processors; a row not seen for two minutes is removed.';
COMMENT ON COLUMN pgrelay.processors.id IS 'New at every start, so that a re-used pid or host name misleads nobody.';
COMMENT ON COLUMN pgrelay.processors.host IS 'Host name.';
COMMENT ON COLUMN pgrelay.processors.pid IS 'Process id on that host.';
COMMENT ON COLUMN pgrelay.processors.version IS 'Version of the binary.';
COMMENT ON COLUMN pgrelay.processors.node IS 'Database node it is connected to.';
COMMENT ON COLUMN pgrelay.processors.state IS 'starting, running, paused or draining.';
COMMENT ON COLUMN pgrelay.processors.sql_workers IS 'Workers of its sql pool.';
COMMENT ON COLUMN pgrelay.processors.notify_workers IS 'Workers of its notify pool.';
COMMENT ON COLUMN pgrelay.processors.started_at IS 'When it registered.';
COMMENT ON COLUMN pgrelay.processors.last_seen IS 'Last heartbeat.';
COMMENT ON COLUMN pgrelay.processors.stop_requested_at IS 'Set by stop(id): drain and exit.';
COMMENT ON COLUMN pgrelay.processors.events_ok IS 'Attempts that succeeded since it started.';
COMMENT ON COLUMN pgrelay.processors.events_failed IS 'Events it resolved as error, expired or invalid.';
COMMENT ON COLUMN pgrelay.processors.events_retried IS 'Attempts after which it scheduled a retry.';
REVOKE ALL ON TABLE pgrelay.processors FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay.processors TO pgrelay_admin, pgrelay_monitor;
GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE pgrelay.processors TO pgrelay_processor;
