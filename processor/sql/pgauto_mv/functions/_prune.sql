-- Purpose: the end of old log rows, a few at a time, and of old requests. The last success of a view stays: sync_mv tells the other nodes what it was.
-- Writes: mv_refresh_log, mv_sync_requests
CREATE FUNCTION pgauto_mv._prune()
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    DELETE FROM pgauto_mv.mv_refresh_log AS l
    WHERE l.log_id IN (
        SELECT o.log_id
        FROM pgauto_mv.materialised_views AS m
        CROSS JOIN LATERAL (
            SELECT f.log_id, f.logged_at FROM pgauto_mv.mv_refresh_log AS f WHERE f.auto_mv_id = m.auto_mv_id ORDER BY f.log_id LIMIT 1000
        ) AS o
        WHERE o.logged_at < clock_timestamp() - m.keep_log
          AND o.log_id IS DISTINCT FROM (
              SELECT f.log_id FROM pgauto_mv.mv_refresh_log AS f WHERE f.auto_mv_id = m.auto_mv_id AND f.success ORDER BY f.log_id DESC LIMIT 1
          )
    );
    -- By now every node that is still wanted has them.
    DELETE FROM pgauto_mv.mv_sync_requests AS r WHERE r.requested_at < clock_timestamp() - interval '1 day';
$$;
COMMENT ON FUNCTION pgauto_mv._prune() IS 'Removes old log rows and requests. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._prune() FROM PUBLIC;
