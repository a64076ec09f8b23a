-- Purpose: which views follow which. A directed graph without cycles; chain() refuses to close one.
CREATE TABLE pgauto_mv.mv_chain (
    parent_id        uuid    NOT NULL,
    child_id         uuid    NOT NULL,
    refresh_on_error boolean NOT NULL DEFAULT false,
    CONSTRAINT mv_chain_pkey PRIMARY KEY (parent_id, child_id),
    CONSTRAINT mv_chain_parent FOREIGN KEY (parent_id) REFERENCES pgauto_mv.materialised_views (auto_mv_id) ON DELETE CASCADE,
    CONSTRAINT mv_chain_child FOREIGN KEY (child_id) REFERENCES pgauto_mv.materialised_views (auto_mv_id) ON DELETE CASCADE,
    CONSTRAINT mv_chain_two CHECK (parent_id <> child_id)
);
CREATE INDEX mv_chain_child_id ON pgauto_mv.mv_chain (child_id);
COMMENT ON TABLE pgauto_mv.mv_chain IS 'Views that are refreshed after another one. May be replicated.';
COMMENT ON COLUMN pgauto_mv.mv_chain.parent_id IS 'The view that is refreshed first.';
COMMENT ON COLUMN pgauto_mv.mv_chain.child_id IS 'The view that follows.';
COMMENT ON COLUMN pgauto_mv.mv_chain.refresh_on_error IS 'The child follows also when the refresh of the parent failed.';
REVOKE ALL ON TABLE pgauto_mv.mv_chain FROM PUBLIC;
GRANT SELECT ON TABLE pgauto_mv.mv_chain TO pgauto_mv_monitor;
