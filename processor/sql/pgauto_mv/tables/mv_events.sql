-- Purpose: why a view is pending. Insert-only for writers: the key is new for every row, so that no writer meets another. A refresh deletes the
--          rows it had read before it began. Node-local: leave it out of replication.
CREATE TABLE pgauto_mv.mv_events (
    event_id   bigint      GENERATED ALWAYS AS IDENTITY (CACHE 32),
    auto_mv_id uuid        NOT NULL,
    event_at   timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    source     text        NOT NULL DEFAULT 'event',
    CONSTRAINT mv_events_pkey PRIMARY KEY (auto_mv_id, event_id),
    CONSTRAINT mv_events_source CHECK (source IN ('event', 'chain', 'direct', 'sync'))
) WITH (
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE pgauto_mv.mv_events IS 'Changes and requests that no refresh has covered yet. Leave it out of replication.';
COMMENT ON COLUMN pgauto_mv.mv_events.event_id IS 'Identity; not the order of commits.';
COMMENT ON COLUMN pgauto_mv.mv_events.auto_mv_id IS 'The view that is to be refreshed.';
COMMENT ON COLUMN pgauto_mv.mv_events.event_at IS 'When it happened (not when it was committed).';
COMMENT ON COLUMN pgauto_mv.mv_events.source IS 'event: a change of a source; chain: a parent was refreshed; direct: somebody asked; sync: another node asked.';
REVOKE ALL ON TABLE pgauto_mv.mv_events FROM PUBLIC;
GRANT SELECT ON TABLE pgauto_mv.mv_events TO pgauto_mv_monitor;
