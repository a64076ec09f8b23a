-- Purpose: record what an attempt came to, or that a notification ended without one. The verdict is the Processor's.
-- Parameters: p_id
--             p_status        retry, sent, failed, expired or invalid
--             p_detail        what happened, with the recipients that were refused
--             p_provider_ref  what the server calls it
--             p_elapsed_ms    length of the attempt
--             p_attempt       its number, from 1; a number may come again after a crash
-- Raises: nothing for an unknown id (nothing is recorded) or an unknown status (recorded in attempts, the notification stays as it is)
-- Writes: pgrelay_notifier.attempts, pgrelay_notifier.notifications
CREATE FUNCTION pgrelay_notifier.set_status(
    p_id           bigint,
    p_status       text,
    p_detail       text,
    p_provider_ref text,
    p_elapsed_ms   integer,
    p_attempt      integer
)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_detail text        := left(p_detail, 8192);
    v_ref    text        := left(p_provider_ref, 1000);
    v_now    timestamptz := clock_timestamp();
BEGIN
    -- What was delivered stays as it is, whatever a later attempt says: events can be enqueued by others, too.
    UPDATE pgrelay_notifier.notifications AS n
    SET status = p_status,
        finished_at = CASE WHEN p_status <> 'retry' THEN v_now END,
        attempts = n.attempts + CASE WHEN p_status IN ('retry', 'sent', 'failed') THEN 1 ELSE 0 END,
        last_detail = v_detail,
        provider_ref = coalesce(v_ref, n.provider_ref),
        elapsed_ms = p_elapsed_ms,
        updated_at = v_now
    WHERE n.id = p_id AND n.status <> 'sent' AND p_status IN ('retry', 'sent', 'failed', 'expired', 'invalid');
    IF NOT FOUND THEN
        -- Locked as the foreign key would, so that one which is just purged counts as unknown and raises nothing.
        PERFORM FROM pgrelay_notifier.notifications AS n WHERE n.id = p_id FOR KEY SHARE;
        IF NOT FOUND THEN
            RETURN;
        END IF;
    END IF;
    INSERT INTO pgrelay_notifier.attempts
        (notification_id, reported_at, attempt, elapsed_ms, status, provider_ref, detail)
    VALUES (p_id, v_now, p_attempt, p_elapsed_ms, left(p_status, 100), v_ref, v_detail);
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.set_status(bigint, text, text, text, integer, integer) IS 'Records what an attempt came to. Interface 1, since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.set_status(bigint, text, text, text, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.set_status(bigint, text, text, text, integer, integer) TO pgrelay_processor;
