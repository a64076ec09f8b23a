-- Purpose: every known key of profiles, messages and attachments, in the one place that the validation reads. The README explains them.
-- Parameters: p_of  smtp, m365, webhook (profiles); mail, call (messages: of smtp and m365, of webhook); attachment
-- Returns: key; kind  what _check_field() and _check_string() ask of it; required; low, high  range of a number or of a text's length;
--          choices  of kind choice
CREATE FUNCTION pgrelay_notifier._fields(p_of text)
RETURNS TABLE (key text, kind text, required boolean, low bigint, high bigint, choices text[])
LANGUAGE sql IMMUTABLE SECURITY INVOKER ROWS 16
AS $$
    SELECT f.key, f.kind, f.required, f.low, f.high, f.choices
    FROM (VALUES
        ('smtp', 'host', 'host', true, NULL::bigint, NULL::bigint, NULL::text[]),
        ('smtp', 'port', 'integer', false, 1, 65535, NULL),
        ('smtp', 'security', 'choice', false, NULL, NULL, ARRAY['starttls', 'tls', 'none']),
        ('smtp', 'username', 'line', false, 1, 1000, NULL),
        ('smtp', 'password', 'secret', false, NULL, NULL, NULL),
        ('smtp', 'auth', 'choice', false, NULL, NULL, ARRAY['plain', 'login', 'xoauth2']),
        ('smtp', 'from', 'address', true, NULL, NULL, NULL),
        ('smtp', 'helo_name', 'helo', false, NULL, NULL, NULL),
        ('smtp', 'ca_file', 'path', false, NULL, NULL, NULL),
        ('smtp', 'timeout_seconds', 'integer', false, 1, NULL, NULL),
        ('smtp', 'envelope_from', 'return_path', false, NULL, NULL, NULL),
        ('smtp', 'partial_delivery', 'boolean', false, NULL, NULL, NULL),
        ('smtp', 'allowed_recipient_domains', 'domains', false, NULL, NULL, NULL),
        ('smtp', 'max_message_bytes', 'integer', false, 1024, 104857600, NULL),
        ('smtp', 'backoff_seconds', 'backoff', false, 1, 86400, NULL),
        ('smtp', 'honour_retry_after', 'boolean', false, NULL, NULL, NULL),
        ('m365', 'tenant_id', 'identifier', true, NULL, NULL, NULL),
        ('m365', 'client_id', 'identifier', true, NULL, NULL, NULL),
        ('m365', 'client_secret', 'secret', true, NULL, NULL, NULL),
        ('m365', 'sender', 'mailbox', true, NULL, NULL, NULL),
        ('m365', 'save_to_sent_items', 'boolean', false, NULL, NULL, NULL),
        ('m365', 'authority_url', 'base_url', false, NULL, NULL, NULL),
        ('m365', 'graph_url', 'base_url', false, NULL, NULL, NULL),
        ('m365', 'timeout_seconds', 'integer', false, 1, NULL, NULL),
        ('m365', 'allowed_recipient_domains', 'domains', false, NULL, NULL, NULL),
        ('m365', 'max_message_bytes', 'integer', false, 1024, 104857600, NULL),
        ('m365', 'backoff_seconds', 'backoff', false, 1, 86400, NULL),
        ('m365', 'honour_retry_after', 'boolean', false, NULL, NULL, NULL),
        ('webhook', 'url', 'url', true, NULL, NULL, NULL),
        ('webhook', 'method', 'choice', false, NULL, NULL, ARRAY['POST', 'PUT', 'PATCH']),
        ('webhook', 'headers', 'http_headers', false, NULL, NULL, NULL),
        ('webhook', 'signing_secret', 'secret', false, NULL, NULL, NULL),
        ('webhook', 'allow_private_network', 'boolean', false, NULL, NULL, NULL),
        ('webhook', 'timeout_seconds', 'integer', false, 1, NULL, NULL),
        ('webhook', 'max_message_bytes', 'integer', false, 1024, 104857600, NULL),
        ('webhook', 'backoff_seconds', 'backoff', false, 1, 86400, NULL),
        ('webhook', 'honour_retry_after', 'boolean', false, NULL, NULL, NULL),
        ('mail', 'to', 'addresses', false, NULL, NULL, NULL),
        ('mail', 'cc', 'addresses', false, NULL, NULL, NULL),
        ('mail', 'bcc', 'addresses', false, NULL, NULL, NULL),
        ('mail', 'reply_to', 'addresses', false, NULL, NULL, NULL),
        ('mail', 'subject', 'line', false, 0, 998, NULL),
        ('mail', 'text', 'text', false, NULL, NULL, NULL),
        ('mail', 'html', 'text', false, NULL, NULL, NULL),
        ('mail', 'attachments', 'attachments', false, NULL, NULL, NULL),
        ('mail', 'headers', 'mail_headers', false, NULL, NULL, NULL),
        ('mail', 'importance', 'choice', false, NULL, NULL, ARRAY['low', 'normal', 'high']),
        ('mail', 'message_id', 'message_id', false, NULL, NULL, NULL),
        ('mail', 'list_unsubscribe', 'uris', false, NULL, NULL, NULL),
        ('call', 'body', 'any', true, NULL, NULL, NULL),
        ('call', 'headers', 'http_headers', false, NULL, NULL, NULL),
        ('call', 'webhook_id', 'webhook_id', false, NULL, NULL, NULL),
        ('attachment', 'filename', 'filename', true, NULL, NULL, NULL),
        ('attachment', 'content_type', 'content_type', false, NULL, NULL, NULL),
        ('attachment', 'content_base64', 'base64', true, NULL, NULL, NULL),
        ('attachment', 'content_id', 'content_id', false, NULL, NULL, NULL)
    ) AS f (belongs_to, key, kind, required, low, high, choices)
    WHERE f.belongs_to = p_of
$$;
COMMENT ON FUNCTION pgrelay_notifier._fields(text) IS 'Every known key of profiles, messages and attachments. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._fields(text) FROM PUBLIC;
