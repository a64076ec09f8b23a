-- Purpose: keep a materialised view fresh from now on.
-- Parameters: p_mv                  the view
--             p_refresh_lag         seconds of quiet after the latest event before it is refreshed
--             p_max_wait            seconds after the first event at which it is refreshed even without quiet; 0: no such limit
--             p_cooldown            seconds after a refresh in which no other begins
--             p_concurrent          use CONCURRENTLY, which lets readers go on
--             p_sources             tables whose changes count; NULL: those that its definition reads, through plain views
--             p_events              which changes count: insert, update, delete, truncate
--             p_fire_on_replica     changes applied by logical replication count as well
--             p_sync_after_refresh  ask the other nodes to refresh theirs
--             p_index_policy        when CONCURRENTLY is not possible: error, plain or skip
--             p_skip_unchanged      skip a scheduled slot when no event came
--             p_lock_timeout        how long a refresh waits for the lock of the view
--             p_retry_growth        factor by which the delay of 60 s grows with each further failure
--             p_retry_max           longest delay of a retry in seconds
--             p_suspend_after       failures in a row after which it is suspended; 0: never
--             p_keep_log            how long rows of mv_refresh_log are kept
--             p_refresh_now         refresh it once as soon as this is committed
-- Returns: auto_mv_id
-- Raises: PM002 registered already, PM003 bad argument, PM005 cannot be watched or refreshed so, PM006 a privilege is lacking,
--         55P03 a source stays locked; a WARNING when the view depends on the current time
-- Writes: materialised_views, mv_sources, mv_chain, mv_state, pgrelay.channels, pgrelay.queue; triggers on the sources
CREATE FUNCTION pgauto_mv.register(
    p_mv                 regclass,
    p_refresh_lag        integer  DEFAULT 5,
    p_max_wait           integer  DEFAULT 60,
    p_cooldown           integer  DEFAULT 0,
    p_concurrent         boolean  DEFAULT false,
    p_sources            regclass[] DEFAULT NULL,
    p_events             text[]   DEFAULT ARRAY['insert', 'update', 'delete', 'truncate'],
    p_fire_on_replica    boolean  DEFAULT false,
    p_sync_after_refresh boolean  DEFAULT false,
    p_index_policy       text     DEFAULT 'error',
    p_skip_unchanged     boolean  DEFAULT false,
    p_lock_timeout       interval DEFAULT interval '5 seconds',
    p_retry_growth       numeric  DEFAULT 1,
    p_retry_max          integer  DEFAULT 3600,
    p_suspend_after      integer  DEFAULT 0,
    p_keep_log           interval DEFAULT interval '30 days',
    p_refresh_now        boolean  DEFAULT false
)
RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_new pgauto_mv.materialised_views;
BEGIN
    SELECT n.nspname, c.relname INTO v_new.mv_schema, v_new.mv_name
    FROM pg_class AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.oid = p_mv AND c.relkind = 'm';
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PM003', MESSAGE = 'p_mv must be a materialised view',
            DETAIL = format('p_mv = %s', coalesce(p_mv::text, 'NULL'));
    END IF;
    v_new.auto_mv_id := gen_random_uuid();
    v_new.refresh_lag := p_refresh_lag;
    v_new.max_wait := p_max_wait;
    v_new.cooldown := p_cooldown;
    v_new.concurrent := coalesce(p_concurrent, false);
    v_new.index_policy := p_index_policy;
    v_new.is_active := true;
    v_new.events := p_events;
    v_new.derive_sources := p_sources IS NULL;
    v_new.fire_on_replica := coalesce(p_fire_on_replica, false);
    v_new.sync_after_refresh := coalesce(p_sync_after_refresh, false);
    v_new.skip_unchanged := coalesce(p_skip_unchanged, false);
    v_new.lock_timeout := p_lock_timeout;
    v_new.retry_growth := p_retry_growth;
    v_new.retry_max := p_retry_max;
    v_new.suspend_after := p_suspend_after;
    v_new.keep_log := p_keep_log;
    v_new.created_at := clock_timestamp();
    v_new.updated_at := v_new.created_at;
    PERFORM pgauto_mv._check_setting(v_new, p_mv);
    PERFORM pgauto_mv._refuse_registered(p_mv);
    PERFORM pgauto_mv._warn_of_clock(p_mv);
    PERFORM pgauto_mv._ensure_channels();
    INSERT INTO pgauto_mv.materialised_views SELECT v_new.*;
    INSERT INTO pgauto_mv.mv_state (auto_mv_id, mv_oid, bound_in) VALUES (v_new.auto_mv_id, p_mv, pgauto_mv._database_identity());
    PERFORM pgauto_mv._set_sources(v_new.auto_mv_id, p_mv, p_sources, p_chain => true);
    PERFORM pgauto_mv._adopt_children(v_new.auto_mv_id, p_mv);
    PERFORM pgauto_mv._sync_triggers(v_new.auto_mv_id);
    IF p_refresh_now THEN
        INSERT INTO pgauto_mv.mv_events (auto_mv_id, source) VALUES (v_new.auto_mv_id, 'direct');
        PERFORM pgauto_mv._send(v_new.auto_mv_id);
    END IF;
    PERFORM pgauto_mv._send_upkeep();
    RETURN v_new.auto_mv_id;
END
$$;
COMMENT ON FUNCTION pgauto_mv.register IS 'Keeps a materialised view fresh from now on and returns its auto_mv_id. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv.register FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgauto_mv.register TO pgauto_mv_admin;
