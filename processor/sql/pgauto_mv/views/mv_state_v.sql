-- Purpose: the state of each registered view, and when its next refresh is due. All that dispatches decide by.
--              max_refresh_time    = first_event_at + max_wait                 (NULL without max_wait)
--              latest_refresh_time = latest_event_at + refresh_lag
--              due_at              = LEAST(both, direct_refresh_at)
--              cooldown_until      = last_refresh_completed + cooldown
--              refresh_due_at      = GREATEST(cooldown_until, due_at)          (retry_at in place of due_at after a failure)
--          LEAST and GREATEST pass over NULL, so that refresh_due_at must be made NULL where nothing is pending.
-- Reads: materialised_views, mv_state, mv_events, mv_truncate_signals, pg_class, pg_locks
CREATE VIEW pgauto_mv.mv_state_v AS
SELECT
    m.auto_mv_id,
    coalesce(n.nspname, m.mv_schema) AS mv_schema,
    coalesce(c.relname, m.mv_name) AS mv_name,
    c.oid AS mv_oid,
    m.refresh_lag,
    m.max_wait,
    m.cooldown,
    m.concurrent,
    NOT m.is_active AS inactive,
    c.oid IS NULL AS mv_missing,
    coalesce(c.relispopulated, false) AS ispopulated,
    e.pending_events IS NOT NULL AS is_pending,
    coalesce(e.pending_events, 0) AS pending_events,
    e.first_event_at,
    e.latest_event_at,
    e.direct_refresh_at,
    CASE WHEN e.direct_refresh_at IS NOT NULL THEN 'direct' WHEN e.chained THEN 'chain' ELSE 'event' END AS refresh_source,
    (SELECT count(*) FROM pgauto_mv.mv_truncate_signals AS t WHERE t.auto_mv_id = m.auto_mv_id) AS truncate_signals,
    t.max_refresh_time,
    t.latest_refresh_time,
    t.due_at,
    t.cooldown_until,
    CASE WHEN e.pending_events IS NOT NULL THEN greatest(
        t.cooldown_until,
        CASE WHEN e.direct_refresh_at IS NULL THEN coalesce(s.retry_at, t.due_at) ELSE t.due_at END
    ) END AS refresh_due_at,
    coalesce(t.cooldown_until > clock_timestamp(), false) AS in_cooldown,
    pgauto_mv._refresh_in_progress(m.auto_mv_id, c.oid) AS refresh_in_progress,
    s.last_refresh_started,
    s.last_refresh_completed,
    s.data_as_of,
    m.schedule_id,
    s.next_scheduled_at,
    s.last_scheduled_at,
    s.scheduled_queue_id,
    coalesce(s.consecutive_failures, 0) AS consecutive_failures,
    s.failing_since,
    s.last_error,
    s.retry_at,
    s.suspended_at IS NOT NULL AS suspended,
    s.suspended_at
FROM pgauto_mv.materialised_views AS m
LEFT JOIN pgauto_mv.mv_state AS s ON s.auto_mv_id = m.auto_mv_id
-- The OID follows a renamed view; where there is none, or it is of another database, the name decides.
LEFT JOIN LATERAL (
    SELECT coalesce(
        (SELECT o.oid FROM pg_class AS o
         WHERE o.oid = s.mv_oid AND o.relkind = 'm' AND s.bound_in = pgauto_mv._database_identity()),
        (SELECT o.oid FROM pg_class AS o JOIN pg_namespace AS ns ON ns.oid = o.relnamespace
         WHERE ns.nspname = m.mv_schema AND o.relname = m.mv_name AND o.relkind = 'm')
    ) AS mv_oid
) AS b ON true
LEFT JOIN pg_class AS c ON c.oid = b.mv_oid
LEFT JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN (
    SELECT
        x.auto_mv_id,
        count(*) AS pending_events,
        min(x.event_at) AS first_event_at,
        max(x.event_at) AS latest_event_at,
        min(x.event_at) FILTER (WHERE x.source = 'direct') AS direct_refresh_at,
        bool_or(x.source = 'chain') AS chained
    FROM pgauto_mv.mv_events AS x
    GROUP BY x.auto_mv_id
) AS e ON e.auto_mv_id = m.auto_mv_id
CROSS JOIN LATERAL (
    SELECT
        l.max_refresh_time,
        l.latest_refresh_time,
        -- A clock that was set back must not make the view wait until it has caught up: such an event is due now, and such a cooldown is none.
        least(
            l.max_refresh_time,
            l.latest_refresh_time,
            e.direct_refresh_at,
            CASE WHEN e.latest_event_at > clock_timestamp() THEN clock_timestamp() END
        ) AS due_at,
        CASE WHEN s.last_refresh_completed <= clock_timestamp()
             THEN s.last_refresh_completed + m.cooldown * interval '1 second' END AS cooldown_until
    FROM (
        SELECT
            CASE WHEN m.max_wait > 0 THEN e.first_event_at + m.max_wait * interval '1 second' END AS max_refresh_time,
            e.latest_event_at + m.refresh_lag * interval '1 second' AS latest_refresh_time
    ) AS l
) AS t;
COMMENT ON VIEW pgauto_mv.mv_state_v IS 'State of each registered view and the times its next refresh follows from; refresh_due_at is NULL when nothing is pending.';
REVOKE ALL ON TABLE pgauto_mv.mv_state_v FROM PUBLIC;
GRANT SELECT ON TABLE pgauto_mv.mv_state_v TO pgauto_mv_monitor;
