-- Purpose: whether another session is refreshing the view: one of ours, which shows by its advisory lock, or a REFRESH by hand, which shows by
--          the lock of the view. What a running refresh writes nobody else can see.
-- Parameters: p_auto_mv_id; p_mv_oid  the view, NULL when it is missing
-- Returns: true or false
-- Reads: pg_locks
CREATE FUNCTION pgauto_mv._refresh_in_progress(p_auto_mv_id uuid, p_mv_oid oid)
RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT
        FROM pg_locks AS l
        WHERE l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
          AND l.granted
          AND l.pid IS DISTINCT FROM pg_backend_pid()
          AND (l.locktype = 'advisory'
               AND l.objsubid = 1
               AND (l.classid::bigint << 32) | l.objid::bigint = pgauto_mv._lock_key(p_auto_mv_id, 'refresh')
               OR l.locktype = 'relation'
               AND l.relation = p_mv_oid
               AND l.mode IN ('ExclusiveLock', 'AccessExclusiveLock'))
    )
$$;
COMMENT ON FUNCTION pgauto_mv._refresh_in_progress(uuid, oid) IS 'Whether another session is refreshing the view. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._refresh_in_progress(uuid, oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv._refresh_in_progress(uuid, oid) TO pgauto_mv_monitor;
