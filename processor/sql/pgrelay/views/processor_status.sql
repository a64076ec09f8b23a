-- Purpose: every registered Processor and whether it is alive.
-- Reads: pgrelay.processors
CREATE VIEW pgrelay.processor_status AS
SELECT
    p.id,
    p.host,
    p.pid,
    p.version,
    p.node,
    CASE WHEN p.last_seen > now() - interval '15 seconds' THEN p.state ELSE 'lost' END AS state,
    p.sql_workers,
    p.notify_workers,
    p.started_at,
    p.last_seen,
    p.events_ok,
    p.events_failed,
    p.events_retried
FROM pgrelay.processors AS p;
COMMENT ON VIEW pgrelay.processor_status IS 'Registered Processors; lost means no heartbeat for 15 seconds.';
REVOKE ALL ON TABLE pgrelay.processor_status FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay.processor_status TO pgrelay_admin, pgrelay_monitor, pgrelay_processor;
