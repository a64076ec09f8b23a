-- Purpose: refuse attachments that could not be sent as they are meant.
-- Parameters: p_key; p_attachments
-- Raises: PN004
CREATE FUNCTION pgrelay_notifier._check_attachments(p_key text, p_attachments jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SECURITY INVOKER
AS $$
DECLARE
    v_item   jsonb;
    v_number bigint;
BEGIN
    IF jsonb_typeof(p_attachments) <> 'array' OR jsonb_array_length(p_attachments) > 100 THEN
        PERFORM pgrelay_notifier._refuse_key('message', p_key, NULL, 'is not an array of up to 100 attachments',
            '[{"filename": "a.txt", "content_type": "text/plain", "content_base64": "YQ=="}]');
    END IF;
    FOR v_item, v_number IN SELECT e.item, e.number FROM jsonb_array_elements(p_attachments) WITH ORDINALITY AS e (item, number) LOOP
        PERFORM pgrelay_notifier._check_fields('message', 'attachment', format('%s[%s]', p_key, v_number), v_item);
    END LOOP;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_attachments(text, jsonb) IS 'Refuses attachments that could not be sent. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_attachments(text, jsonb) FROM PUBLIC;
