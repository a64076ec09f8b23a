-- Purpose: delete what is past its retention, a small step at a time: log rows.
-- Parameters: p_after  id to go on from (0 at first)
-- Returns: last_id  where the next step goes on; NULL: the end, or rows too young to go, were reached. deleted  rows deleted
-- Reads: pgrelay.fleet   Writes: pgrelay.log. One step looks at 5,000 rows.
CREATE FUNCTION pgrelay._prune_log(p_after bigint, OUT last_id bigint, OUT deleted bigint)
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_horizon timestamptz := clock_timestamp() - (SELECT f.keep_log FROM pgrelay.fleet AS f);
    v_young   boolean;
BEGIN
    SELECT max(s.id), bool_or(s.started_at > v_horizon)
    INTO last_id, v_young
    FROM (SELECT t.id, t.started_at FROM pgrelay.log AS t WHERE t.id > p_after ORDER BY t.id LIMIT 5000) AS s;
    DELETE FROM pgrelay.log AS t
    WHERE t.id > p_after AND t.id <= last_id AND t.started_at < v_horizon;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    -- Ids grow with time, so nothing behind a young row is due to go.
    IF v_young THEN
        last_id := NULL;
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay._prune_log(bigint) IS 'Deletes log rows past their retention. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._prune_log(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay._prune_log(bigint) TO pgrelay_processor;
