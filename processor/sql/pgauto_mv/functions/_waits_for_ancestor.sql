-- Purpose: the child of a diamond is refreshed once, after all its parents. A dispatch that is pending by its chain alone waits while an ancestor still
--          has a chain event that is no younger than its own first one: one of the same wave, which is running or about to. Later waves do not count,
--          so a busy ancestor starves nobody; nor does one that cannot run now, or has been due for a minute and only skips.
-- Parameters: p_state
-- Returns: true or false
-- Reads: mv_chain, mv_events, mv_state_v
CREATE FUNCTION pgauto_mv._waits_for_ancestor(p_state pgauto_mv.mv_state_v)
RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE ancestors AS (
        SELECT c.parent_id AS id FROM pgauto_mv.mv_chain AS c WHERE c.child_id = p_state.auto_mv_id
        UNION
        SELECT c.parent_id FROM ancestors AS a JOIN pgauto_mv.mv_chain AS c ON c.child_id = a.id
    )
    SELECT NOT EXISTS (
        SELECT FROM pgauto_mv.mv_events AS e WHERE e.auto_mv_id = p_state.auto_mv_id AND e.source <> 'chain'
    ) AND EXISTS (
        SELECT
        FROM ancestors AS a
        JOIN pgauto_mv.mv_state_v AS v ON v.auto_mv_id = a.id
        WHERE NOT v.inactive
          AND NOT v.mv_missing
          AND NOT v.suspended
          AND v.retry_at IS NULL
          AND v.refresh_due_at <= clock_timestamp() + interval '1 minute'
          AND (v.refresh_due_at > clock_timestamp() - interval '1 minute' OR v.refresh_in_progress)
          AND EXISTS (
              SELECT FROM pgauto_mv.mv_events AS e
              WHERE e.auto_mv_id = a.id AND e.source = 'chain' AND e.event_at <= p_state.first_event_at
          )
    )
$$;
COMMENT ON FUNCTION pgauto_mv._waits_for_ancestor(pgauto_mv.mv_state_v) IS 'Whether a chained refresh has to wait for an ancestor. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._waits_for_ancestor(pgauto_mv.mv_state_v) FROM PUBLIC;
