-- Purpose: delete the rows of Processors that went away without a word, and the crash marks of events that are over.
-- Returns: nothing
-- Reads: pgrelay.queue   Writes: pgrelay.processors, pgrelay.crashes
CREATE FUNCTION pgrelay._prune_registry()
RETURNS void
LANGUAGE sql VOLATILE SECURITY INVOKER
SET search_path = pg_catalog, pg_temp
AS $$
    DELETE FROM pgrelay.processors AS p WHERE p.last_seen < clock_timestamp() - interval '2 minutes';
    DELETE FROM pgrelay.crashes AS x
    WHERE NOT EXISTS (SELECT FROM pgrelay.queue AS q WHERE q.id = x.queue_id AND q.status = 'pending');
$$;
COMMENT ON FUNCTION pgrelay._prune_registry() IS 'Deletes lost Processors and obsolete crash marks. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._prune_registry() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay._prune_registry() TO pgrelay_processor;
