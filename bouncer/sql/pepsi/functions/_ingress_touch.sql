-- Trigger function of pepsi.ingress, before an update of a row.
-- Purpose: date the change, and on the way back to pending forget the run that is over. Whoever re-queues a message sets stage and status
--          only; a worker, a start and an error beside 'pending' would be those of another run.
-- Returns: the row to be stored
-- Reads, writes: nothing but the row
CREATE FUNCTION pepsi._ingress_touch()
RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.updated_at := clock_timestamp();
    IF NEW.status = 'pending' AND OLD.status <> 'pending' THEN
        NEW.worker := NULL;
        NEW.started_at := NULL;
        NEW.error := NULL;
    END IF;
    RETURN NEW;
END
$$;
ALTER FUNCTION pepsi._ingress_touch() OWNER TO pepsi;
COMMENT ON FUNCTION pepsi._ingress_touch() IS 'Dates a change of a message; clears the last run when it goes back to pending. Since 1.1.';
REVOKE ALL ON FUNCTION pepsi._ingress_touch() FROM PUBLIC;
CREATE TRIGGER ingress_touch
    BEFORE UPDATE ON pepsi.ingress
    FOR EACH ROW
    EXECUTE FUNCTION pepsi._ingress_touch();
