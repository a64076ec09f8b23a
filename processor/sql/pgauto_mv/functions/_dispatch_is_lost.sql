-- Purpose: whether a view is due and nothing is coming for it. A view that is pending has a dispatch in the same snapshot, so that there is none only when
--          it was lost: its session ended three times (a server process killed for its memory), its channel was disabled, or somebody removed it.
-- Parameters: p_auto_mv_id
-- Returns: true or false
-- Reads: mv_state_v, pgrelay.queue
CREATE FUNCTION pgauto_mv._dispatch_is_lost(p_auto_mv_id uuid)
RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT
        FROM pgauto_mv.mv_state_v AS v
        WHERE v.auto_mv_id = p_auto_mv_id
          AND NOT v.inactive
          AND NOT v.refresh_in_progress
          AND least(
                  CASE WHEN NOT v.suspended OR v.direct_refresh_at IS NOT NULL THEN v.refresh_due_at END,
                  v.next_scheduled_at
              ) < clock_timestamp() - interval '10 seconds'
          AND NOT EXISTS (
              SELECT
              FROM pgrelay.queue AS q
              WHERE q.status = 'pending'
                AND q.twin_key = pgrelay._twin_key('pg_auto_mv.refresh_materialised_view', pgrelay.node_name(), p_auto_mv_id::text)
                AND q.channel = 'pg_auto_mv.refresh_materialised_view'
                AND q.payload = p_auto_mv_id::text
                AND q.expire_at IS NULL
                -- A dispatch that skips comes again after a minute at most; one of a later slot does not count.
                AND q.run_at < clock_timestamp() + interval '2 minutes'
          )
    )
$$;
COMMENT ON FUNCTION pgauto_mv._dispatch_is_lost(uuid) IS 'Whether a view is due and nothing is coming for it. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._dispatch_is_lost(uuid) FROM PUBLIC;
