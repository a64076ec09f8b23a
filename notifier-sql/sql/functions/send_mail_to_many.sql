-- Purpose: send_mail() for callers that have their recipients in arrays. A literal without a type always means the other one.
-- Parameters: as send_mail(), with p_to, p_cc, p_bcc and p_reply_to as arrays of addresses
-- Returns: id of the notification
-- Raises: as send()
-- Reads: pgrelay_notifier.profiles, pgrelay.channels   Writes: pgrelay_notifier.notifications, pgrelay.queue
CREATE FUNCTION pgrelay_notifier.send_mail(
    p_profile     text,
    p_to          text[],
    p_subject     text,
    p_text        text        DEFAULT NULL,
    p_html        text        DEFAULT NULL,
    p_cc          text[]      DEFAULT NULL,
    p_bcc         text[]      DEFAULT NULL,
    p_reply_to    text[]      DEFAULT NULL,
    p_attachments jsonb       DEFAULT NULL,
    p_headers     jsonb       DEFAULT NULL,
    p_channel     text        DEFAULT NULL,
    p_run_at      timestamptz DEFAULT NULL,
    p_expire_at   timestamptz DEFAULT NULL,
    p_debug       boolean     DEFAULT false
)
RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pgrelay_notifier.send_mail(
        p_profile,
        to_jsonb(p_to)::text,
        p_subject,
        p_text,
        p_html,
        to_jsonb(p_cc)::text,
        to_jsonb(p_bcc)::text,
        to_jsonb(p_reply_to)::text,
        p_attachments,
        p_headers,
        p_channel,
        p_run_at,
        p_expire_at,
        p_debug
    )
$$;
COMMENT ON FUNCTION pgrelay_notifier.send_mail(text, text[], text, text, text, text[], text[], text[], jsonb, jsonb, text, timestamptz, timestamptz, boolean)
    IS 'Sends a mail to arrays of recipients in the calling transaction and returns the notification''s id. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier.send_mail(text, text[], text, text, text, text[], text[], text[], jsonb, jsonb, text, timestamptz, timestamptz, boolean)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay_notifier.send_mail(text, text[], text, text, text, text[], text[], text[], jsonb, jsonb, text, timestamptz, timestamptz, boolean)
    TO pgrelay_notifier_sender;
