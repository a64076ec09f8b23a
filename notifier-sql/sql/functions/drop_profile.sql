-- Purpose: remove a profile that nothing queued needs any more. Finished notifications keep its name.
-- Parameters: p_name
-- Raises: PN001 unknown profile, PN006 profile in use: by queued notifications, by finished ones of which an event is pending, or by a
--         transaction that is sending; PN012 isolation level
-- Reads: pgrelay_notifier.notifications, pgrelay.queue   Writes: pgrelay_notifier.profiles
CREATE FUNCTION pgrelay_notifier.drop_profile(p_name text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_pending bigint;
BEGIN
    PERFORM pgrelay_notifier._check_isolation('drop_profile()');
    BEGIN
        -- A sender shares the row until it commits. Its transaction may be a long one, so it is not waited for.
        PERFORM FROM pgrelay_notifier.profiles AS p WHERE p.name = p_name FOR UPDATE NOWAIT;
    EXCEPTION WHEN lock_not_available THEN
        PERFORM pgrelay_notifier._refuse('profile in use', format('profile %L is in use', p_name),
            'Another transaction is sending with it, or changing it.', 'Try again when that transaction has ended.');
    END;
    IF NOT FOUND THEN
        PERFORM pgrelay_notifier._refuse('unknown profile', format('profile %L does not exist', p_name), format('p_name = %L', p_name),
            'Profiles are listed in pgrelay_notifier.profile_status.');
    END IF;
    SELECT count(*) INTO v_pending
    FROM pgrelay_notifier.notifications AS n
    WHERE n.profile = p_name
      -- An event of a sent one needs no profile: fetch() does not give it.
      AND (n.finished_at IS NULL OR n.status <> 'sent' AND pgrelay_notifier._pending_event(n.id, n.event_key, n.channel) IS NOT NULL);
    IF v_pending > 0 THEN
        PERFORM pgrelay_notifier._refuse('profile in use', format('profile %L is in use', p_name),
            format('%s notifications are queued, wait for a retry or are tried again with it.', v_pending),
            'Wait until they are sent, or cancel them: SELECT pgrelay_notifier.cancel(id).');
    END IF;
    DELETE FROM pgrelay_notifier.profiles AS p WHERE p.name = p_name;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.drop_profile(text) IS 'Removes a profile that nothing queued needs. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.drop_profile(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.drop_profile(text) TO pgrelay_notifier_admin;
