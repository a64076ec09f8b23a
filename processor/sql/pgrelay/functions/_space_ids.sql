-- Purpose: give this node every "of"-th id, beginning with one that is its own, so that ids of two nodes never meet.
--          A trigger, because pg_restore brings back the node of an extension as a row, but not the spacing of its sequences.
-- Returns: nothing (AFTER trigger)
-- Reads: pgrelay.queue_id_seq, pgrelay.log_id_seq   Writes: both (takes ACCESS EXCLUSIVE on them)
CREATE FUNCTION pgrelay._space_ids()
RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sequence text;
    v_next     bigint;
BEGIN
    FOREACH v_sequence IN ARRAY ARRAY['queue_id_seq', 'log_id_seq'] LOOP
        EXECUTE format('SELECT s.last_value FROM pgrelay.%I AS s', v_sequence) INTO v_next;
        -- The first number above the last one that belongs to this node.
        v_next := v_next + 1 + mod(mod(NEW.number - (v_next + 1), NEW.of) + NEW.of, NEW.of);
        EXECUTE format('ALTER SEQUENCE pgrelay.%I INCREMENT BY %s RESTART WITH %s', v_sequence, NEW.of, v_next);
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION pgrelay._space_ids() IS 'Spaces the ids of this node. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._space_ids() FROM PUBLIC;
CREATE TRIGGER node_space_ids
    AFTER INSERT OR UPDATE ON pgrelay.node
    FOR EACH ROW EXECUTE FUNCTION pgrelay._space_ids();
COMMENT ON TRIGGER node_space_ids ON pgrelay.node IS 'Spaces the ids of this node.';
