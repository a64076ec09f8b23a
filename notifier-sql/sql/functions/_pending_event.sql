-- Purpose: the event that an attempt at a notification is still to come from, be it a retry, a redrive or one that somebody else enqueued.
-- Parameters: p_id, p_event_key, p_channel  of the notification; not its row, whose message would be read for it
-- Returns: id of the last one; NULL when none is pending
-- Reads: pgrelay.queue
CREATE FUNCTION pgrelay_notifier._pending_event(p_id bigint, p_event_key bigint, p_channel text)
RETURNS bigint
LANGUAGE sql STABLE SECURITY INVOKER
AS $$
    SELECT q.id
    FROM pgrelay.queue AS q
    WHERE q.twin_key = p_event_key AND q.status = 'pending' AND q.channel = p_channel AND q.payload = p_id::text
    ORDER BY q.id DESC
    LIMIT 1
$$;
COMMENT ON FUNCTION pgrelay_notifier._pending_event(bigint, bigint, text) IS 'Pending event of a notification. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._pending_event(bigint, bigint, text) FROM PUBLIC;
