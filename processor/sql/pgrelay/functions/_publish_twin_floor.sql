-- Purpose: publish the time before which no event of the sql pool is pending, so that the look-up of twins need not walk
--          over finished ones. Ten seconds of slack cover events whose transactions are still open; an older one that is missed costs a twin
--          too many, which the claim folds.
-- Returns: nothing
-- Reads: pgrelay.queue   Writes: pgrelay.twin_floor. Called about once a second.
CREATE FUNCTION pgrelay._publish_twin_floor()
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    v_oldest timestamptz;
BEGIN
    v_oldest := least(
        clock_timestamp(),
        (SELECT q.run_at FROM pgrelay.queue AS q
         WHERE q.status = 'pending' AND q.action_type = 'sql' AND q.lane IS NULL
         ORDER BY q.run_at, q.id LIMIT 1),
        (SELECT q.run_at FROM pgrelay.queue AS q
         WHERE q.status = 'pending' AND q.action_type = 'sql' AND q.lane IS NOT NULL
         ORDER BY q.run_at, q.id LIMIT 1)
    );
    PERFORM setval('pgrelay.twin_floor',
        greatest(0, (extract(epoch FROM greatest(v_oldest, '1970-01-02'::timestamptz) - interval '10 seconds') * 1000)::bigint));
END
$$;
COMMENT ON FUNCTION pgrelay._publish_twin_floor() IS 'Publishes the lower bound of the look-up of twins. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._publish_twin_floor() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay._publish_twin_floor() TO pgrelay_processor;
