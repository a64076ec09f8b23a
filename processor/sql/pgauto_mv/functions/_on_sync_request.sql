-- Purpose: what a request of another node does here, when replication brings it: an event and a dispatch. A failure is a WARNING: an error would
--          stop the replication. Requests are ignored where this node knows for itself: it sees the changes (fire_on_replica), or keeps the schedule.
-- Reads: materialised_views, mv_state   Writes: mv_events, pgrelay.queue
CREATE FUNCTION pgauto_mv._on_sync_request()
RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NEW.origin_node = pgrelay.node_name() OR NOT EXISTS (
        SELECT
        FROM pgauto_mv.materialised_views AS m
        LEFT JOIN pgauto_mv.mv_state AS s ON s.auto_mv_id = m.auto_mv_id
        WHERE m.auto_mv_id = NEW.auto_mv_id
          AND NOT (NEW.cause = 'event' AND m.fire_on_replica)
          AND NOT (NEW.cause = 'schedule' AND s.next_scheduled_at IS NOT NULL)
    ) THEN
        RETURN NULL;
    END IF;
    INSERT INTO pgauto_mv.mv_events (auto_mv_id, source) VALUES (NEW.auto_mv_id, 'sync');
    PERFORM pgauto_mv._send(NEW.auto_mv_id);
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING USING ERRCODE = 'PM010',
        MESSAGE = format('a request to refresh materialised view %s was not enqueued', NEW.auto_mv_id),
        DETAIL = format('%s: %s', SQLSTATE, SQLERRM),
        HINT = 'Repair what failed, then SELECT pgauto_mv.reconcile().';
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION pgauto_mv._on_sync_request() IS 'Trigger: queues the refresh that another node asks for. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._on_sync_request() FROM PUBLIC;
CREATE TRIGGER mv_sync_requests_queue AFTER INSERT ON pgauto_mv.mv_sync_requests
FOR EACH ROW EXECUTE FUNCTION pgauto_mv._on_sync_request();
-- Rows come by replication.
ALTER TABLE pgauto_mv.mv_sync_requests ENABLE ALWAYS TRIGGER mv_sync_requests_queue;
