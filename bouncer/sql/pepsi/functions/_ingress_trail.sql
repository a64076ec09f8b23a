-- Trigger function of pepsi.ingress, after a row has changed its stage or has gone back to pending.
-- Purpose: write the trail. After the update, so that it tells what was stored; as the owner, so that nobody else needs a right on the trail
--          and nobody who may move a message can forge its trail.
-- Returns: NULL, which the server ignores
-- Writes: pepsi.ingress_trail
CREATE FUNCTION pepsi._ingress_trail()
RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO pepsi.ingress_trail
        (ingress_id, from_stage, to_stage, from_status, to_status, worker, started_at, error, moved_by, application, client)
    VALUES (
        NEW.id, OLD.stage, NEW.stage, OLD.status, NEW.status, OLD.worker, OLD.started_at, OLD.error,
        session_user, current_setting('application_name'), inet_client_addr()
    );
    RETURN NULL;
END
$$;
ALTER FUNCTION pepsi._ingress_trail() OWNER TO pepsi;
COMMENT ON FUNCTION pepsi._ingress_trail() IS 'Writes the trail of a message. Since 1.1.';
REVOKE ALL ON FUNCTION pepsi._ingress_trail() FROM PUBLIC;
CREATE TRIGGER ingress_trail
    AFTER UPDATE ON pepsi.ingress
    FOR EACH ROW
    WHEN (OLD.stage IS DISTINCT FROM NEW.stage OR (OLD.status <> 'pending' AND NEW.status = 'pending'))
    EXECUTE FUNCTION pepsi._ingress_trail();
