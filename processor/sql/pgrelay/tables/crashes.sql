-- Purpose: marks of claims that ended in an unexplained lost connection. Written on a new connection after the loss, since
--          the claim itself left no trace. A marked event is never batched again; three counted marks end it.
CREATE TABLE pgrelay.crashes (
    queue_id   bigint      NOT NULL,
    processor  uuid        NOT NULL,
    counted    boolean     NOT NULL,
    crashed_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
);
-- A publication FOR ALL TABLES would refuse the deletes of a table that has neither a key nor this.
ALTER TABLE pgrelay.crashes REPLICA IDENTITY FULL;
CREATE INDEX crashes_queue_id ON pgrelay.crashes (queue_id);
COMMENT ON TABLE pgrelay.crashes IS 'Events whose claim ended in an unexplained lost connection.';
COMMENT ON COLUMN pgrelay.crashes.queue_id IS 'The event.';
COMMENT ON COLUMN pgrelay.crashes.processor IS 'The Processor that held it.';
COMMENT ON COLUMN pgrelay.crashes.counted IS 'True when the event was running alone, so that it is to blame; false when it shared a batch.';
COMMENT ON COLUMN pgrelay.crashes.crashed_at IS 'When the loss was noticed.';
REVOKE ALL ON TABLE pgrelay.crashes FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay.crashes TO pgrelay_admin, pgrelay_monitor;
GRANT SELECT, INSERT, DELETE ON TABLE pgrelay.crashes TO pgrelay_processor;
