-- Purpose: what became of a notification whose end was never reported, as far as its events tell. None of them is pending.
-- Parameters: p_id
-- Returns: status, detail, elapsed_ms, attempt  as set_status() takes them; no row when neither queue nor log has an end of it
-- Reads: pgrelay_notifier.notifications, pgrelay.queue (all of it: no index finds what is finished), pgrelay.log
CREATE FUNCTION pgrelay_notifier._known_end(p_id bigint)
RETURNS TABLE (status text, detail text, elapsed_ms integer, attempt integer)
LANGUAGE sql STABLE SECURITY INVOKER ROWS 1
AS $$
    WITH RECURSIVE event AS (
        (
            SELECT n.event_id AS id
            FROM pgrelay_notifier.notifications AS n
            WHERE n.id = p_id
            UNION ALL
            -- Redriven ones, which the log does not link.
            SELECT q.id
            FROM pgrelay_notifier.notifications AS n
            JOIN pgrelay.queue AS q ON q.twin_key = n.event_key AND q.channel = n.channel AND q.payload = n.id::text
            WHERE n.id = p_id
        )
        UNION
        SELECT l.retry_queue_id
        FROM event AS e
        JOIN pgrelay.log AS l ON l.queue_id = e.id
        WHERE l.retry_queue_id IS NOT NULL
    ), ended AS (
        SELECT l.status, l.error, l.elapsed_ms, l.attempt, l.started_at AS at
        FROM event AS e
        JOIN pgrelay.log AS l ON l.queue_id = e.id
        WHERE l.status <> 'retry_scheduled'
        UNION ALL
        -- Its log row may have been pruned first. What is done and has a retry was not sent.
        SELECT CASE q.status WHEN 'done' THEN 'ok' ELSE q.status END, NULL, NULL, q.retry_count + 1, q.finished_at
        FROM event AS e
        JOIN pgrelay.queue AS q ON q.id = e.id
        WHERE q.finished_at IS NOT NULL
          AND NOT EXISTS (SELECT FROM pgrelay.log AS l WHERE l.queue_id = q.id)
          AND NOT EXISTS (SELECT FROM pgrelay.queue AS r WHERE r.parent_id = q.id)
    )
    SELECT
        CASE WHEN d.status = 'ok' THEN 'sent' WHEN d.status IN ('expired', 'invalid') THEN d.status ELSE 'failed' END,
        format('no report of its end came; the queue knows: %s', concat_ws(': ', d.status, d.error)),
        least(d.elapsed_ms, 2147483647)::integer,
        d.attempt
    FROM ended AS d
    -- What was sent once was sent.
    ORDER BY d.status = 'ok' DESC, d.at DESC
    LIMIT 1
$$;
COMMENT ON FUNCTION pgrelay_notifier._known_end(bigint) IS 'End of a notification that was never reported, as its events tell. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._known_end(bigint) FROM PUBLIC;
