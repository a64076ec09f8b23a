-- Purpose: send a mail in the caller's transaction.
-- Parameters: p_profile      of transport smtp or m365
--             p_to           one address, 'Name <user@example.org>', or a JSON array of addresses, '["a@example.org", "b@example.org"]'
--             p_subject      up to 998 characters
--             p_text, p_html one body or both; with both, the reader's program chooses
--             p_cc, p_bcc, p_reply_to  as p_to
--             p_attachments  [{"filename": …, "content_type": …, "content_base64": …, "content_id": …}]
--             p_headers      {"X-Name": "value"}
--             then as send()
-- Returns: id of the notification
-- Raises: as send()
-- Reads: pgrelay_notifier.profiles, pgrelay.channels   Writes: pgrelay_notifier.notifications, pgrelay.queue
CREATE FUNCTION pgrelay_notifier.send_mail(
    p_profile     text,
    p_to          text,
    p_subject     text,
    p_text        text        DEFAULT NULL,
    p_html        text        DEFAULT NULL,
    p_cc          text        DEFAULT NULL,
    p_bcc         text        DEFAULT NULL,
    p_reply_to    text        DEFAULT NULL,
    p_attachments jsonb       DEFAULT NULL,
    p_headers     jsonb       DEFAULT NULL,
    p_channel     text        DEFAULT NULL,
    p_run_at      timestamptz DEFAULT NULL,
    p_expire_at   timestamptz DEFAULT NULL,
    p_debug       boolean     DEFAULT false
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_message jsonb;
BEGIN
    SELECT coalesce(jsonb_object_agg(m.key, m.value), '{}') INTO v_message
    FROM (VALUES
        ('to', pgrelay_notifier._recipients(p_to)),
        ('cc', pgrelay_notifier._recipients(p_cc)),
        ('bcc', pgrelay_notifier._recipients(p_bcc)),
        ('reply_to', pgrelay_notifier._recipients(p_reply_to)),
        ('subject', to_jsonb(p_subject)),
        ('text', to_jsonb(p_text)),
        ('html', to_jsonb(p_html)),
        ('attachments', p_attachments),
        ('headers', p_headers)
    ) AS m (key, value)
    WHERE m.value IS NOT NULL;
    PERFORM pgrelay_notifier._check_transport(p_profile, ARRAY['smtp', 'm365']);
    RETURN pgrelay_notifier._send(p_profile, v_message, p_channel, p_run_at, p_expire_at, p_debug);
END
$$;
COMMENT ON FUNCTION pgrelay_notifier.send_mail(text, text, text, text, text, text, text, text, jsonb, jsonb, text, timestamptz, timestamptz, boolean)
    IS 'Sends a mail in the calling transaction and returns the notification''s id. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.send_mail(text, text, text, text, text, text, text, text, jsonb, jsonb, text, timestamptz, timestamptz, boolean)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.send_mail(text, text, text, text, text, text, text, text, jsonb, jsonb, text, timestamptz, timestamptz, boolean)
    TO pgrelay_notifier_sender;
