-- Purpose: no starvation by deduplicated callers. An event that is due and has been shared by overlapping callers for over a second is closed:
--          new callers insert a fresh twin, the sharing ones commit, and the event can be claimed.
--          Closing updates no key, so it goes through beside the callers' KEY SHARE locks, which keep the event unclaimed until they commit.
-- Returns: number of events closed
-- Reads, writes: pgrelay.queue. At most the first 1,000 due events of each index are looked at. Called about once a second.
CREATE FUNCTION pgrelay._close_shared()
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    v_before    timestamptz := clock_timestamp() - interval '1 second';
    v_unclaimed bigint[];
    v_unshared  bigint[];
    v_count     integer := 0;
BEGIN
    -- Not claimed: a claim holds FOR UPDATE.
    v_unclaimed := ARRAY(
        SELECT q.id
        FROM pgrelay.queue AS q
        WHERE q.id = ANY (ARRAY(
            SELECT d.id
            FROM (
                (SELECT r.id, r.deduplicate, r.closed FROM pgrelay.queue AS r
                 WHERE r.status = 'pending' AND r.action_type = 'sql' AND r.lane IS NULL AND r.run_at < v_before
                 ORDER BY r.run_at, r.id LIMIT 1000)
                UNION ALL
                (SELECT l.id, l.deduplicate, l.closed FROM pgrelay.queue AS l
                 WHERE l.status = 'pending' AND l.action_type = 'sql' AND l.lane IS NOT NULL AND l.run_at < v_before
                 ORDER BY l.run_at, l.id LIMIT 1000)
            ) AS d
            WHERE NOT d.closed
        ))
          AND q.status = 'pending'
        FOR NO KEY UPDATE OF q SKIP LOCKED
    );
    IF cardinality(v_unclaimed) = 0 THEN
        RETURN 0;
    END IF;
    v_unshared := ARRAY(
        SELECT q.id FROM pgrelay.queue AS q WHERE q.id = ANY (v_unclaimed) FOR UPDATE OF q SKIP LOCKED
    );
    UPDATE pgrelay.queue AS q
    SET closed = true
    WHERE q.id = ANY (v_unclaimed) AND q.id <> ALL (v_unshared);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION pgrelay._close_shared() IS 'Closes due events that deduplicated callers have shared for too long. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._close_shared() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay._close_shared() TO pgrelay_processor;
