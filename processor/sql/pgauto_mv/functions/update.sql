-- Purpose: change the settings of a view; they bind at its next dispatch. NULL leaves a setting as it is.
-- Parameters: p_mv, then the settings of register(); p_is_active  false stops refreshes and keeps events and schedule, true starts both again;
--             p_derive_sources  true goes back from given sources to those of the definition
-- Raises: PM001 not registered, PM003, PM005, PM006 as register(), 55P03 the view or a source stays locked for over five seconds
-- Writes: materialised_views, mv_sources, mv_state, mv_events, pgrelay.queue; triggers on the sources
CREATE FUNCTION pgauto_mv.update(
    p_mv                 regclass,
    p_refresh_lag        integer  DEFAULT NULL,
    p_max_wait           integer  DEFAULT NULL,
    p_cooldown           integer  DEFAULT NULL,
    p_concurrent         boolean  DEFAULT NULL,
    p_sources            regclass[] DEFAULT NULL,
    p_events             text[]   DEFAULT NULL,
    p_fire_on_replica    boolean  DEFAULT NULL,
    p_sync_after_refresh boolean  DEFAULT NULL,
    p_is_active          boolean  DEFAULT NULL,
    p_index_policy       text     DEFAULT NULL,
    p_skip_unchanged     boolean  DEFAULT NULL,
    p_lock_timeout       interval DEFAULT NULL,
    p_retry_growth       numeric  DEFAULT NULL,
    p_retry_max          integer  DEFAULT NULL,
    p_suspend_after      integer  DEFAULT NULL,
    p_keep_log           interval DEFAULT NULL,
    p_derive_sources     boolean  DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
DECLARE
    v_new    pgauto_mv.materialised_views;
    v_before pgauto_mv.materialised_views;
BEGIN
    SELECT m.* INTO STRICT v_before FROM pgauto_mv.materialised_views AS m WHERE m.auto_mv_id = pgauto_mv._mv_for_call(p_mv) FOR UPDATE;
    v_new := v_before;
    v_new.refresh_lag := coalesce(p_refresh_lag, v_new.refresh_lag);
    v_new.max_wait := coalesce(p_max_wait, v_new.max_wait);
    v_new.cooldown := coalesce(p_cooldown, v_new.cooldown);
    v_new.concurrent := coalesce(p_concurrent, v_new.concurrent);
    v_new.index_policy := coalesce(p_index_policy, v_new.index_policy);
    v_new.is_active := coalesce(p_is_active, v_new.is_active);
    v_new.events := coalesce(p_events, v_new.events);
    v_new.derive_sources := (p_derive_sources OR v_new.derive_sources) IS TRUE AND p_sources IS NULL;
    v_new.fire_on_replica := coalesce(p_fire_on_replica, v_new.fire_on_replica);
    v_new.sync_after_refresh := coalesce(p_sync_after_refresh, v_new.sync_after_refresh);
    v_new.skip_unchanged := coalesce(p_skip_unchanged, v_new.skip_unchanged);
    v_new.lock_timeout := coalesce(p_lock_timeout, v_new.lock_timeout);
    v_new.retry_growth := coalesce(p_retry_growth, v_new.retry_growth);
    v_new.retry_max := coalesce(p_retry_max, v_new.retry_max);
    v_new.suspend_after := coalesce(p_suspend_after, v_new.suspend_after);
    v_new.keep_log := coalesce(p_keep_log, v_new.keep_log);
    PERFORM pgauto_mv._check_setting(v_new, p_mv);
    UPDATE pgauto_mv.materialised_views AS m
    SET (refresh_lag, max_wait, cooldown, concurrent, index_policy, is_active, events, derive_sources, fire_on_replica, sync_after_refresh,
         skip_unchanged, lock_timeout, retry_growth, retry_max, suspend_after, keep_log, updated_at)
        = (v_new.refresh_lag, v_new.max_wait, v_new.cooldown, v_new.concurrent, v_new.index_policy, v_new.is_active, v_new.events,
           v_new.derive_sources, v_new.fire_on_replica, v_new.sync_after_refresh, v_new.skip_unchanged, v_new.lock_timeout,
           v_new.retry_growth, v_new.retry_max, v_new.suspend_after, v_new.keep_log, clock_timestamp())
    WHERE m.auto_mv_id = v_new.auto_mv_id;
    IF p_sources IS NOT NULL OR p_derive_sources THEN
        PERFORM pgauto_mv._set_sources(v_new.auto_mv_id, p_mv, p_sources, p_chain => false);
    END IF;
    IF pgauto_mv._sync_triggers(v_new.auto_mv_id) > 0 THEN
        -- What has changed in a source that comes in now is not known.
        INSERT INTO pgauto_mv.mv_events (auto_mv_id) VALUES (v_new.auto_mv_id);
    END IF;
    IF v_new.is_active AND NOT v_before.is_active THEN
        PERFORM pgauto_mv._advance_schedule(v_new.auto_mv_id);
    END IF;
    -- What is pending may be due at another time now.
    PERFORM pgauto_mv._send(v_new.auto_mv_id);
END
$$;
COMMENT ON FUNCTION pgauto_mv.update IS 'Changes the settings of a view; NULL leaves a setting as it is. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.update FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.update TO pgauto_mv_admin;
