-- Purpose: one row of controls and settings that bind every Processor. Rows first, wake-ups second: a lost wake-up costs a second.
CREATE TABLE pgrelay.fleet (
    only_row            boolean     NOT NULL DEFAULT true,
    paused_until        timestamptz,
    stop_started_before timestamptz,
    reload_generation   bigint      NOT NULL DEFAULT 0,
    keep_finished       interval    NOT NULL DEFAULT interval '7 days',
    keep_log            interval    NOT NULL DEFAULT interval '30 days',
    CONSTRAINT fleet_pkey PRIMARY KEY (only_row),
    CONSTRAINT fleet_only_row CHECK (only_row),
    CONSTRAINT fleet_keep_finished CHECK (keep_finished >= interval '0'),
    CONSTRAINT fleet_keep_log CHECK (keep_log >= interval '0')
);
INSERT INTO pgrelay.fleet DEFAULT VALUES;
COMMENT ON TABLE pgrelay.fleet IS 'Controls and settings of the whole fleet; exactly one row.';
COMMENT ON COLUMN pgrelay.fleet.only_row IS 'Always true: keeps the table at one row.';
COMMENT ON COLUMN pgrelay.fleet.paused_until IS 'Nothing is claimed before this time.';
COMMENT ON COLUMN pgrelay.fleet.stop_started_before IS 'Processors that registered before this time drain and exit.';
COMMENT ON COLUMN pgrelay.fleet.reload_generation IS 'Raised by request_reload(); a Processor that sees it grow reloads.';
COMMENT ON COLUMN pgrelay.fleet.keep_finished IS 'How long finished events stay in the queue.';
COMMENT ON COLUMN pgrelay.fleet.keep_log IS 'How long log rows stay.';
REVOKE ALL ON TABLE pgrelay.fleet FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay.fleet TO pgrelay_admin, pgrelay_processor, pgrelay_monitor;
