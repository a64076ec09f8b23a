-- Purpose: what this node knows of each view beyond its pending events. Only dispatches and the administrator's calls write it, never a
--          writer of a source. Node-local: leave it out of replication. A missing row is made by the first dispatch.
CREATE TABLE pgauto_mv.mv_state (
    auto_mv_id             uuid        NOT NULL,
    mv_oid                 oid,
    bound_in               text,
    last_refresh_started   timestamptz,
    last_refresh_completed timestamptz,
    data_as_of             timestamptz,
    consecutive_failures   integer     NOT NULL DEFAULT 0,
    failing_since          timestamptz,
    last_error             text,
    retry_at               timestamptz,
    suspended_at           timestamptz,
    next_scheduled_at      timestamptz,
    last_scheduled_at      timestamptz,
    scheduled_queue_id     bigint,
    deferred_until         timestamptz,
    structure              text,
    CONSTRAINT mv_state_pkey PRIMARY KEY (auto_mv_id)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 200,
    autovacuum_vacuum_scale_factor = 0
);
COMMENT ON TABLE pgauto_mv.mv_state IS 'State of each view on this node; read it through mv_state_v. Leave it out of replication.';
COMMENT ON COLUMN pgauto_mv.mv_state.auto_mv_id IS 'The registration.';
COMMENT ON COLUMN pgauto_mv.mv_state.mv_oid IS 'The view, as long as bound_in is this database.';
COMMENT ON COLUMN pgauto_mv.mv_state.bound_in IS 'The database in which mv_oid was written, see _database_identity().';
COMMENT ON COLUMN pgauto_mv.mv_state.last_refresh_started IS 'Start of the last refresh; NULL after a failed one.';
COMMENT ON COLUMN pgauto_mv.mv_state.last_refresh_completed IS 'End of the last refresh that succeeded; the cooldown counts from it.';
COMMENT ON COLUMN pgauto_mv.mv_state.data_as_of IS 'What was committed before this time is in the view.';
COMMENT ON COLUMN pgauto_mv.mv_state.consecutive_failures IS 'Failures since the last success. Cancelled ones, lock timeouts and class 40 do not count.';
COMMENT ON COLUMN pgauto_mv.mv_state.failing_since IS 'First failure, of any kind, since the last success.';
COMMENT ON COLUMN pgauto_mv.mv_state.last_error IS 'Message of the last failure; NULL after a success.';
COMMENT ON COLUMN pgauto_mv.mv_state.retry_at IS 'When the failed refresh is tried again; NULL after a success.';
COMMENT ON COLUMN pgauto_mv.mv_state.suspended_at IS 'When it was suspended after too many failures; resume() clears it.';
COMMENT ON COLUMN pgauto_mv.mv_state.next_scheduled_at IS 'Next slot of the schedule.';
COMMENT ON COLUMN pgauto_mv.mv_state.last_scheduled_at IS 'Last slot that was served; none at or before it is served again.';
COMMENT ON COLUMN pgauto_mv.mv_state.scheduled_queue_id IS 'The event of pgrelay.queue for the next slot.';
COMMENT ON COLUMN pgauto_mv.mv_state.deferred_until IS 'The dispatch that the last one has left behind is due then; writers rely on it, see _source_changed().';
COMMENT ON COLUMN pgauto_mv.mv_state.structure IS 'Fingerprint of definitions, sources and partitions when they were last looked at, see _structure(); NULL: not yet.';
REVOKE ALL ON TABLE pgauto_mv.mv_state FROM PUBLIC;
GRANT SELECT ON TABLE pgauto_mv.mv_state TO pgauto_mv_monitor;
