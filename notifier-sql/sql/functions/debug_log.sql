-- Purpose: keep one step of an attempt at a notification sent with p_debug. Called on a connection of its own, outside any transaction,
--          while the attempt's transaction is open: it waits for no lock of that one.
-- Parameters: p_id, p_step, p_detail
-- Raises: nothing. An unknown id is ignored; what else fails becomes a WARNING with the SQLSTATE alone
-- Reads: pgrelay_notifier.notifications   Writes: pgrelay_notifier.debug_steps
CREATE FUNCTION pgrelay_notifier.debug_log(p_id bigint, p_step text, p_detail text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO pgrelay_notifier.debug_steps (notification_id, step, detail)
    SELECT n.id, left(p_step, 200), left(p_detail, 8192)
    FROM pgrelay_notifier.notifications AS n
    WHERE n.id = p_id;
EXCEPTION WHEN OTHERS THEN
    -- The trace is for people; losing a step of it must not cost the attempt.
    RAISE WARNING 'pgrelay_notifier.debug_log: a step was not recorded (SQLSTATE %)', SQLSTATE;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.debug_log(bigint, text, text) IS 'Keeps one step of an attempt. Interface 1, since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.debug_log(bigint, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.debug_log(bigint, text, text) TO pgrelay_processor;
