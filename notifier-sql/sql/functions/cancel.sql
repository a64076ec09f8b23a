-- Purpose: keep a notification from being sent. Its event is killed, whichever retry it is, and the Processor reports it as expired.
--          A notification that waits without an event (a queue that was emptied, a report that was lost) becomes expired at once.
-- Parameters: p_id  one of the session's login, or any for members of pgrelay_notifier_admin
-- Returns: true when no further attempt will begin once the caller's transaction has committed; false when it is being sent at this
--          moment or has ended
-- Raises: PN007 unknown notification
-- Reads: pgrelay.queue   Writes: pgrelay.queue, pgrelay_notifier.notifications, pgrelay_notifier.attempts
CREATE FUNCTION pgrelay_notifier.cancel(p_id bigint)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_event   bigint;
    v_pending boolean;
BEGIN
    PERFORM pgrelay_notifier._own(p_id);
    -- One statement, one snapshot: a retry replaces its event and the status in one commit, so that both are seen before or after it.
    SELECT
        n.finished_at IS NULL,
        (
            SELECT q.id FROM pgrelay.queue AS q
            WHERE q.twin_key = n.event_key AND q.status = 'pending' AND q.channel = n.channel AND q.payload = n.id::text
            ORDER BY q.id DESC
            LIMIT 1
        )
    INTO v_pending, v_event
    FROM pgrelay_notifier.notifications AS n
    WHERE n.id = p_id;
    IF v_event IS NOT NULL THEN
        IF NOT pgrelay.kill(v_event) THEN
            RETURN false;
        END IF;
        UPDATE pgrelay_notifier.notifications AS n SET cancelled_at = clock_timestamp() WHERE n.id = p_id;
        RETURN true;
    ELSIF NOT coalesce(v_pending, false) THEN
        RETURN false;
    END IF;
    UPDATE pgrelay_notifier.notifications AS n
    SET cancelled_at = clock_timestamp()
    WHERE n.id = p_id AND n.finished_at IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM pgrelay_notifier.set_status(p_id, 'expired', 'cancelled; it waited, but no event of it was left in the queue', NULL, 0, NULL);
    RETURN true;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.cancel(bigint) IS 'Keeps a notification from being sent; false when it is too late. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.cancel(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.cancel(bigint) TO pgrelay_notifier_sender;
