-- Purpose: the trail of a message, one row whenever it changes its stage or goes back to pending: who moved it, from where, and why.
--          It keeps what the move clears in pepsi.ingress. Insert-only; it outlives the message.
CREATE TABLE pepsi.ingress_trail (
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    ingress_id  bigint      NOT NULL,
    at          timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    from_stage  text        NOT NULL,
    to_stage    text        NOT NULL,
    from_status text        NOT NULL,
    to_status   text        NOT NULL,
    worker      text,
    started_at  timestamptz,
    error       text,
    moved_by    text        NOT NULL,
    application text        NOT NULL,
    client      inet,
    CONSTRAINT ingress_trail_pkey PRIMARY KEY (id)
) WITH (
    autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX ingress_trail_ingress_id ON pepsi.ingress_trail (ingress_id);
ALTER TABLE pepsi.ingress_trail OWNER TO pepsi;
COMMENT ON TABLE pepsi.ingress_trail IS 'One row for every change of stage, and for every return to pending.';
COMMENT ON COLUMN pepsi.ingress_trail.id IS 'Increases along the way of a message.';
COMMENT ON COLUMN pepsi.ingress_trail.ingress_id IS 'The message.';
COMMENT ON COLUMN pepsi.ingress_trail.at IS 'When it was moved (not when that was committed).';
COMMENT ON COLUMN pepsi.ingress_trail.from_stage IS 'Where it was.';
COMMENT ON COLUMN pepsi.ingress_trail.to_stage IS 'Where it went.';
COMMENT ON COLUMN pepsi.ingress_trail.from_status IS 'Why it was moved: failed or timeout when its stage gave up.';
COMMENT ON COLUMN pepsi.ingress_trail.to_status IS 'What it became.';
COMMENT ON COLUMN pepsi.ingress_trail.worker IS 'Who had run the stage it left.';
COMMENT ON COLUMN pepsi.ingress_trail.started_at IS 'When that run had begun.';
COMMENT ON COLUMN pepsi.ingress_trail.error IS 'Why that stage gave up.';
COMMENT ON COLUMN pepsi.ingress_trail.moved_by IS 'The login that moved it.';
COMMENT ON COLUMN pepsi.ingress_trail.application IS 'The program that moved it: application_name of its session.';
COMMENT ON COLUMN pepsi.ingress_trail.client IS 'The host that moved it; NULL over the unix socket.';
REVOKE ALL ON TABLE pepsi.ingress_trail FROM PUBLIC;
