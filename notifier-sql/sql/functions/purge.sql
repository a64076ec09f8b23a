-- Purpose: delete finished notifications with their attempts and debug steps, up to 10,000 a call. One that was not sent
--          and has a pending event is not over: it is tried again, or its status came from an event that somebody else enqueued.
-- Parameters: p_older_than  since they finished; not negative
-- Returns: notifications deleted; call again until it is 0
-- Raises: PN009 bad argument, PN012 isolation level
-- Reads: pgrelay.queue   Writes: pgrelay_notifier.notifications, pgrelay_notifier.attempts, pgrelay_notifier.debug_steps
CREATE FUNCTION pgrelay_notifier.purge(p_older_than interval)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ids bigint[];
BEGIN
    IF p_older_than IS NULL OR p_older_than < interval '0' THEN
        PERFORM pgrelay_notifier._refuse('bad argument', 'purge needs an interval that is not negative',
            format('p_older_than = %s', coalesce(p_older_than::text, 'NULL')), 'For example: interval ''90 days''.');
    END IF;
    PERFORM pgrelay_notifier._check_isolation('purge()');
    -- SKIP LOCKED: a report may just be coming in for one of them.
    v_ids := ARRAY(
        SELECT n.id
        FROM pgrelay_notifier.notifications AS n
        WHERE n.finished_at <= clock_timestamp() - p_older_than
          -- An event of a sent one sends nothing: fetch() does not give it.
          AND (n.status = 'sent' OR pgrelay_notifier._pending_event(n.id, n.event_key, n.channel) IS NULL)
        ORDER BY n.finished_at
        LIMIT 10000
        FOR UPDATE SKIP LOCKED
    );
    DELETE FROM pgrelay_notifier.debug_steps AS d WHERE d.notification_id = ANY (v_ids);
    DELETE FROM pgrelay_notifier.notifications AS n WHERE n.id = ANY (v_ids);
    RETURN cardinality(v_ids);
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.purge(interval) IS 'Deletes finished notifications, up to 10,000 a call. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.purge(interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.purge(interval) TO pgrelay_notifier_admin;
