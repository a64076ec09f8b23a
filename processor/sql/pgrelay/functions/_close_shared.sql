-- Purpose: no starvation by deduplicated callers. An event that is due and has been shared by overlapping callers for over a second is closed, and
--          a fresh twin takes its place for those who have committed. New callers find that one; the sharing ones commit, and the event can be claimed.
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
    -- Only rows somebody has locked carry an xmax. Not claimed: a claim holds FOR UPDATE.
    v_unclaimed := ARRAY(
        SELECT q.id
        FROM pgrelay.queue AS q
        WHERE q.id = ANY (ARRAY(
            SELECT d.id
            FROM (
                (SELECT r.id FROM pgrelay.queue AS r
                 WHERE r.status = 'pending' AND r.action_type = 'sql' AND r.lane IS NULL AND r.run_at < v_before
                   AND NOT r.closed AND r.xmax <> 0
                 ORDER BY r.run_at, r.id LIMIT 1000)
                UNION ALL
                (SELECT l.id FROM pgrelay.queue AS l
                 WHERE l.status = 'pending' AND l.action_type = 'sql' AND l.lane IS NOT NULL AND l.run_at < v_before
                   AND NOT l.closed AND l.xmax <> 0
                 ORDER BY l.run_at, l.id LIMIT 1000)
            ) AS d
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
    -- Without its lane it blocks nobody there, since its twin takes its place; the claim that can have it puts it back.
    WITH closed AS (
        UPDATE pgrelay.queue AS q
        SET closed = true, lane = CASE WHEN NOT q.deduplicate THEN q.lane END
        WHERE q.id = ANY (v_unclaimed) AND q.id <> ALL (v_unshared)
        RETURNING q.id
    ), twins AS (
        -- For those whose calls have committed, and who must not wait for one that has not. An event sent without p_deduplicate gets no twin:
        -- it would have its effect twice.
        INSERT INTO pgrelay.queue (channel, action_type, payload, run_at, expire_at, node, deduplicate, twin_key, lane)
        SELECT o.channel, o.action_type, o.payload, clock_timestamp(), o.expire_at, o.node, o.deduplicate, o.twin_key, o.lane
        FROM pgrelay.queue AS o
        JOIN closed AS c ON c.id = o.id
        WHERE o.deduplicate
    )
    SELECT count(*) INTO v_count FROM closed;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION pgrelay._close_shared() IS 'Closes due events that deduplicated callers have shared for too long. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._close_shared() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay._close_shared() TO pgrelay_processor;
