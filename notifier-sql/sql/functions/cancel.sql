-- Purpose: keep a notification from being sent. Its event is killed, whichever retry it is, and the Processor reports it as expired.
--          A notification that waits without an event gets the end that queue and log know of (its report was lost); where they know
--          none (the queue was emptied), it becomes expired at once.
-- Parameters: p_id  one of the session's login, or any for members of pgrelay_notifier_admin
-- Returns: true when no further attempt will begin once the caller's transaction has committed; false when it is being sent at this
--          moment or has ended
-- Raises: PN007 unknown notification; PN012 isolation level, when it waits without an event
-- Reads: pgrelay.queue, pgrelay.log   Writes: pgrelay.queue, pgrelay_notifier.notifications, pgrelay_notifier.attempts
CREATE FUNCTION pgrelay_notifier.cancel(p_id bigint)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_status text;
    v_event  bigint;
    v_end    record;
BEGIN
    PERFORM pgrelay_notifier._own(p_id);
    -- One statement, one snapshot: a retry replaces its event and the status in one commit, so that both are seen before or after it.
    SELECT n.status, pgrelay_notifier._pending_event(n.id, n.event_key, n.channel)
    INTO v_status, v_event
    FROM pgrelay_notifier.notifications AS n
    WHERE n.id = p_id;
    -- A failed one may have been redriven; what was sent is not sent again, whatever event names it.
    IF v_event IS NOT NULL AND v_status <> 'sent' THEN
        IF NOT pgrelay.kill(v_event) THEN
            RETURN false;
        END IF;
        UPDATE pgrelay_notifier.notifications AS n SET cancelled_at = clock_timestamp() WHERE n.id = p_id;
        RETURN true;
    ELSIF v_status IS NULL OR v_status NOT IN ('queued', 'retry') THEN
        RETURN false;
    END IF;
    PERFORM pgrelay_notifier._check_isolation('cancel() of a notification without an event');
    PERFORM FROM pgrelay_notifier.notifications AS n WHERE n.id = p_id AND n.finished_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT k.* INTO v_end FROM pgrelay_notifier._known_end(p_id) AS k;
    IF FOUND THEN
        PERFORM pgrelay_notifier.set_status(p_id, v_end.status, v_end.detail, NULL, v_end.elapsed_ms, v_end.attempt);
        RETURN false;
    END IF;
    UPDATE pgrelay_notifier.notifications AS n SET cancelled_at = clock_timestamp() WHERE n.id = p_id;
    PERFORM pgrelay_notifier.set_status(p_id, 'expired', 'cancelled; it waited, but nothing of its event was left in queue and log', NULL, 0, NULL);
    RETURN true;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.cancel(bigint) IS 'Keeps a notification from being sent; false when it is too late. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.cancel(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.cancel(bigint) TO pgrelay_notifier_sender;
