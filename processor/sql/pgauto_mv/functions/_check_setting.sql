-- Purpose: what register() and update() refuse, in one place.
-- Parameters: p_setting  the registration as it would become; p_mv_oid  the view
-- Raises: PM003 bad argument, PM005 CONCURRENTLY is not possible and the policy says error, PM006 the installer may not refresh the view
CREATE FUNCTION pgauto_mv._check_setting(p_setting pgauto_mv.materialised_views, p_mv_oid oid)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_owner   oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = p_mv_oid);
    v_problem text;
    v_detail  text;
BEGIN
    v_problem := CASE
        WHEN (p_setting.refresh_lag BETWEEN 0 AND 31536000) IS NOT TRUE THEN 'p_refresh_lag must be 0 to 31536000 seconds'
        WHEN (p_setting.max_wait BETWEEN 0 AND 31536000) IS NOT TRUE THEN 'p_max_wait must be 0 (no limit) to 31536000 seconds'
        WHEN (p_setting.cooldown BETWEEN 0 AND 31536000) IS NOT TRUE THEN 'p_cooldown must be 0 to 31536000 seconds'
        WHEN (p_setting.index_policy IN ('error', 'plain', 'skip')) IS NOT TRUE THEN 'p_index_policy must be error, plain or skip'
        WHEN (p_setting.events <@ ARRAY['insert', 'update', 'delete', 'truncate']) IS NOT TRUE
             OR array_position(p_setting.events, NULL) IS NOT NULL
        THEN 'p_events may hold insert, update, delete and truncate'
        WHEN (p_setting.lock_timeout BETWEEN interval '1 millisecond' AND interval '1 day') IS NOT TRUE
        THEN 'p_lock_timeout must be 1 millisecond to 1 day'
        WHEN (p_setting.retry_growth BETWEEN 1 AND 10) IS NOT TRUE THEN 'p_retry_growth must be 1 (no growth) to 10'
        WHEN (p_setting.retry_max BETWEEN 60 AND 31536000) IS NOT TRUE THEN 'p_retry_max must be 60 to 31536000 seconds'
        WHEN (p_setting.suspend_after BETWEEN 0 AND 1000000) IS NOT TRUE THEN 'p_suspend_after must be 0 (never) to 1000000 failures'
        WHEN (p_setting.keep_log >= interval '0') IS NOT TRUE THEN 'p_keep_log must not be negative'
    END;
    IF v_problem IS NOT NULL THEN
        v_detail := (SELECT string_agg(format('%s = %s', j.key, j.value), ', ') FROM jsonb_each(to_jsonb(p_setting)) AS j
                     WHERE v_problem LIKE 'p!_' || j.key || ' %' ESCAPE '!');
        RAISE EXCEPTION USING ERRCODE = 'PM003', MESSAGE = v_problem, DETAIL = coalesce(v_detail, '');
    END IF;
    IF p_setting.concurrent AND p_setting.index_policy = 'error' AND pgauto_mv._no_concurrent_reason(p_mv_oid) IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PM005',
            MESSAGE = format('%s cannot be refreshed concurrently', p_mv_oid::regclass),
            DETAIL = pgauto_mv._no_concurrent_reason(p_mv_oid),
            HINT = 'Repair that, or choose p_concurrent => false, or p_index_policy => plain or skip.';
    END IF;
    IF NOT pg_has_role(v_owner, 'USAGE') AND NOT pgauto_mv._may_maintain(p_mv_oid) THEN
        RAISE EXCEPTION USING ERRCODE = 'PM006',
            MESSAGE = format('role %I may not refresh %s', current_user, p_mv_oid::regclass),
            DETAIL = 'The functions of pg_auto_mv run as the role that has installed it.',
            HINT = format('GRANT %s TO %I;', v_owner::regrole, current_user);
    END IF;
END
$$;
COMMENT ON FUNCTION pgauto_mv._check_setting(pgauto_mv.materialised_views, oid) IS 'Refuses malformed settings. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._check_setting(pgauto_mv.materialised_views, oid) FROM PUBLIC;
