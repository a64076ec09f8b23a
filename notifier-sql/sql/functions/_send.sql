-- Purpose: what every sending call comes down to: check, give the message its id, enqueue one event, keep the notification.
-- Parameters: as send(); p_resend_of  the notification that is sent again
-- Returns: id of the notification
-- Raises: PN001, PN004, PN005, PN008, PN009
-- Reads: pgrelay_notifier.profiles, pgrelay.channels   Writes: pgrelay_notifier.notifications, pgrelay.queue
CREATE FUNCTION pgrelay_notifier._send(
    p_profile   text,
    p_message   jsonb,
    p_channel   text,
    p_run_at    timestamptz,
    p_expire_at timestamptz,
    p_debug     boolean,
    p_resend_of bigint DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    v_profile pgrelay_notifier.profiles;
    v_channel text;
    v_key     text;
    v_message jsonb;
    v_id      bigint;
    v_event   bigint;
BEGIN
    -- Shared until the end of the transaction, as a foreign key would: drop_profile() then knows of this notification.
    SELECT p.* INTO v_profile FROM pgrelay_notifier.profiles AS p WHERE p.name = p_profile FOR KEY SHARE;
    IF NOT FOUND THEN
        PERFORM pgrelay_notifier._refuse('unknown profile', format('profile %L does not exist', p_profile), format('p_profile = %L', p_profile),
            'Create it first: SELECT pgrelay_notifier.create_profile(name, transport, profile).');
    END IF;
    PERFORM pgrelay_notifier._check_message(v_profile, p_message);
    v_channel := coalesce(p_channel, v_profile.channel);
    PERFORM pgrelay_notifier._check_channel(v_channel);
    -- The same on every attempt, so that a receiver can tell a repetition.
    v_key := CASE v_profile.transport WHEN 'webhook' THEN 'webhook_id' ELSE 'message_id' END;
    v_message := CASE
        WHEN p_message ? v_key THEN p_message
        WHEN v_key = 'webhook_id' THEN p_message || jsonb_build_object(v_key, 'msg_' || replace(gen_random_uuid()::text, '-', ''))
        ELSE p_message || jsonb_build_object(v_key, format('<%s@%s>', gen_random_uuid(), pgrelay_notifier._message_domain(v_profile.profile)))
    END;
    v_id := nextval('pgrelay_notifier.notifications_id_seq');
    v_event := pgrelay.notify(v_channel, v_id::text, p_run_at, p_expire_at);
    INSERT INTO pgrelay_notifier.notifications
        (id, event_id, event_key, resend_of, debug, profile, transport, channel, message)
    SELECT v_id, q.id, q.twin_key, p_resend_of, coalesce(p_debug, false), v_profile.name, v_profile.transport, v_channel, v_message
    FROM pgrelay.queue AS q
    WHERE q.id = v_event;
    RETURN v_id;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._send(text, jsonb, text, timestamptz, timestamptz, boolean, bigint) IS 'Checks and enqueues one notification. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._send(text, jsonb, text, timestamptz, timestamptz, boolean, bigint) FROM PUBLIC;
