-- Purpose: what a Processor needs for one attempt. Called inside the held transaction, right after the claim; any number of times.
-- Parameters: p_id
-- Returns: one row, profile and message as stored; none for an unknown id, when its profile was deleted by hand, or when it was sent:
--          whoever may enqueue events could otherwise have it sent again
-- Reads: pgrelay_notifier.notifications, pgrelay_notifier.profiles   Writes: nothing, and locks no row: a held transaction
--        may last two minutes, and a transaction id held that long stops vacuum in the whole database
CREATE FUNCTION pgrelay_notifier.fetch(p_id bigint)
RETURNS TABLE (transport text, profile jsonb, message jsonb, debug boolean)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT p.transport, p.profile, n.message, n.debug
    FROM pgrelay_notifier.notifications AS n
    JOIN pgrelay_notifier.profiles AS p ON p.name = n.profile
    WHERE n.id = p_id AND n.status <> 'sent'
$$;
COMMENT ON FUNCTION pgrelay_notifier.fetch(bigint) IS 'Profile and message of a notification. Interface 1, since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.fetch(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.fetch(bigint) TO pgrelay_processor;
