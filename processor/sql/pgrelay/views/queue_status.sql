-- Purpose: the state of the queue in one row, at bounded cost: is anything stuck, is vacuum held up, are wake-ups piling up?
-- Reads: pgrelay.channel_status, pgrelay.fleet, pgrelay.crashes, pgrelay.processors, the statistics of pgrelay.queue
CREATE VIEW pgrelay.queue_status AS
SELECT
    coalesce(sum(s.pending_due), 0)::bigint AS pending_due,
    coalesce(sum(s.pending_future), 0)::bigint AS pending_future,
    max(s.oldest_due_age) AS oldest_due_age,
    (SELECT f.paused_until FROM pgrelay.fleet AS f WHERE f.paused_until > now()) AS paused_until,
    (SELECT count(*) FROM pgrelay.processors AS p WHERE p.last_seen > now() - interval '15 seconds') AS processors_alive,
    (SELECT count(DISTINCT x.queue_id) FROM pgrelay.crashes AS x) AS events_with_crashes,
    pg_stat_get_dead_tuples('pgrelay.queue'::regclass) AS dead_rows,
    (SELECT mxid_age(c.relminmxid) FROM pg_class AS c WHERE c.oid = 'pgrelay.queue'::regclass) AS multixact_age,
    pg_notification_queue_usage() AS notification_queue_usage
FROM pgrelay.channel_status AS s;
COMMENT ON VIEW pgrelay.queue_status IS 'The queue in one row: backlog, age, pause, crashes, dead rows, multixact age and the notification queue.';
REVOKE ALL ON TABLE pgrelay.queue_status FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay.queue_status TO pgrelay_admin, pgrelay_monitor, pgrelay_processor;
