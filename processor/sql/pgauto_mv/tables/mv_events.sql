-- Purpose: why a view is pending. Insert-only for writers. A refresh deletes the rows it had read before it began. Node-local: leave it out of replication.
--          It has no index, on purpose: keeping one costs a writer more than all the rest of its trigger (all write to the same leaf), and who reads
--          it is a dispatch or a person, in a table that is thinned out every minute.
CREATE TABLE pgauto_mv.mv_events (
    event_id   bigint      GENERATED ALWAYS AS IDENTITY (CACHE 32),
    auto_mv_id uuid        NOT NULL,
    event_at   timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    source     text        NOT NULL DEFAULT 'event',
    CONSTRAINT mv_events_source CHECK (source IN ('event', 'chain', 'direct', 'sync'))
) WITH (
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_cost_delay = 0
);
-- A publication FOR ALL TABLES would refuse the deletes of a table that has neither a key nor this.
ALTER TABLE pgauto_mv.mv_events REPLICA IDENTITY FULL;
COMMENT ON TABLE pgauto_mv.mv_events IS 'Changes and requests that no refresh has covered yet. Leave it out of replication.';
COMMENT ON COLUMN pgauto_mv.mv_events.event_id IS 'Identity; not the order of commits.';
COMMENT ON COLUMN pgauto_mv.mv_events.auto_mv_id IS 'The view that is to be refreshed.';
COMMENT ON COLUMN pgauto_mv.mv_events.event_at IS 'When it happened (not when it was committed).';
COMMENT ON COLUMN pgauto_mv.mv_events.source IS 'event: a change of a source; chain: a parent was refreshed; direct: somebody asked; sync: another node asked.';
REVOKE ALL ON TABLE pgauto_mv.mv_events FROM PUBLIC;
GRANT SELECT ON TABLE pgauto_mv.mv_events TO pgauto_mv_monitor;
