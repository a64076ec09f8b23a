-- Trigger function of pepsi.ingress, after a row that is failed or timeout was stored.
-- Purpose: wake the bouncer at commit, with the id of the message, when the row has become so: by its insert or by a change of its status.
--          An update that leaves the status alone is none of its business, or a message left at the bounce stage would wake it again and again.
-- Returns: NULL, which the server ignores
-- Writes: nothing; notifies topic ingress_failed
CREATE FUNCTION pepsi._ingress_failed()
RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'INSERT' OR OLD.status IS DISTINCT FROM NEW.status THEN
        PERFORM pg_notify('ingress_failed', NEW.id::text);
    END IF;
    RETURN NULL;
END
$$;
ALTER FUNCTION pepsi._ingress_failed() OWNER TO pepsi;
COMMENT ON FUNCTION pepsi._ingress_failed() IS 'Wakes the bouncer when a message has become failed or timeout. Since 1.1.';
REVOKE ALL ON FUNCTION pepsi._ingress_failed() FROM PUBLIC;
CREATE TRIGGER ingress_failed_notify
    AFTER INSERT OR UPDATE ON pepsi.ingress
    FOR EACH ROW
    WHEN (NEW.status IN ('failed', 'timeout'))
    EXECUTE FUNCTION pepsi._ingress_failed();
