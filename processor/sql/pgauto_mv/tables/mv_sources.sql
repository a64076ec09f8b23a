-- Purpose: the tables whose changes make a view stale. Configuration, by name; reconcile() makes the triggers follow it on each node.
CREATE TABLE pgauto_mv.mv_sources (
    auto_mv_id    uuid NOT NULL,
    source_schema text NOT NULL,
    source_name   text NOT NULL,
    CONSTRAINT mv_sources_pkey PRIMARY KEY (auto_mv_id, source_schema, source_name),
    CONSTRAINT mv_sources_auto_mv_id FOREIGN KEY (auto_mv_id) REFERENCES pgauto_mv.materialised_views (auto_mv_id) ON DELETE CASCADE
);
COMMENT ON TABLE pgauto_mv.mv_sources IS 'Tables whose changes make a view stale. May be replicated.';
COMMENT ON COLUMN pgauto_mv.mv_sources.auto_mv_id IS 'The registration.';
COMMENT ON COLUMN pgauto_mv.mv_sources.source_schema IS 'Schema of the table.';
COMMENT ON COLUMN pgauto_mv.mv_sources.source_name IS 'Name of the table.';
REVOKE ALL ON TABLE pgauto_mv.mv_sources FROM PUBLIC;
GRANT SELECT ON TABLE pgauto_mv.mv_sources TO pgauto_mv_monitor;
