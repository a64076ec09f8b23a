-- Purpose: which sources were emptied since the last attempt. What is owed is an event row of the same transaction; this tells a person why.
--          Node-local: leave it out of replication.
CREATE TABLE pgauto_mv.mv_truncate_signals (
    signal_id     bigint      GENERATED ALWAYS AS IDENTITY,
    auto_mv_id    uuid        NOT NULL,
    source_schema text        NOT NULL,
    source_name   text        NOT NULL,
    signalled_at  timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    CONSTRAINT mv_truncate_signals_pkey PRIMARY KEY (auto_mv_id, signal_id)
);
COMMENT ON TABLE pgauto_mv.mv_truncate_signals IS 'TRUNCATEs of sources since the last attempt at a refresh. Leave it out of replication.';
COMMENT ON COLUMN pgauto_mv.mv_truncate_signals.signal_id IS 'Identity.';
COMMENT ON COLUMN pgauto_mv.mv_truncate_signals.auto_mv_id IS 'The view.';
COMMENT ON COLUMN pgauto_mv.mv_truncate_signals.source_schema IS 'Schema of the table that was emptied.';
COMMENT ON COLUMN pgauto_mv.mv_truncate_signals.source_name IS 'Name of the table that was emptied.';
COMMENT ON COLUMN pgauto_mv.mv_truncate_signals.signalled_at IS 'When.';
REVOKE ALL ON TABLE pgauto_mv.mv_truncate_signals FROM PUBLIC;
GRANT SELECT ON TABLE pgauto_mv.mv_truncate_signals TO pgauto_mv_monitor;
