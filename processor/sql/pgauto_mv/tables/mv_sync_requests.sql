-- Purpose: how a node asks the others for a refresh: a row that replication carries there. Its trigger is ENABLE ALWAYS, see functions/_on_sync_request.sql.
CREATE TABLE pgauto_mv.mv_sync_requests (
    request_id   uuid        NOT NULL DEFAULT pg_catalog.gen_random_uuid(),
    auto_mv_id   uuid        NOT NULL,
    origin_node  text        NOT NULL,
    cause        text        NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    CONSTRAINT mv_sync_requests_pkey PRIMARY KEY (request_id),
    CONSTRAINT mv_sync_requests_cause CHECK (cause IN ('event', 'chain', 'direct', 'schedule'))
);
CREATE INDEX mv_sync_requests_requested_at ON pgauto_mv.mv_sync_requests (requested_at);
COMMENT ON TABLE pgauto_mv.mv_sync_requests IS 'Requests to the other nodes to refresh a view. Must be replicated where sync_after_refresh is used; kept for a day.';
COMMENT ON COLUMN pgauto_mv.mv_sync_requests.request_id IS 'Identity, unique over all nodes.';
COMMENT ON COLUMN pgauto_mv.mv_sync_requests.auto_mv_id IS 'The view.';
COMMENT ON COLUMN pgauto_mv.mv_sync_requests.origin_node IS 'The node that has refreshed its own, see pgrelay.node_name().';
COMMENT ON COLUMN pgauto_mv.mv_sync_requests.cause IS 'What made that node refresh: event, chain, direct or schedule.';
COMMENT ON COLUMN pgauto_mv.mv_sync_requests.requested_at IS 'When, by the clock of that node.';
REVOKE ALL ON TABLE pgauto_mv.mv_sync_requests FROM PUBLIC;
GRANT SELECT ON TABLE pgauto_mv.mv_sync_requests TO pgauto_mv_monitor;
