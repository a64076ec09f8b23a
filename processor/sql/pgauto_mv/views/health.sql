-- Purpose: has anything stopped? A row for each view and reason; no row means that all is well. An inactive view is well: somebody wanted it so.
--              overdue           it should have been refreshed over a minute ago, and no refresh of it is running
--              schedule_overdue  its slot passed over a minute ago
--              schedule_stopped  it has a schedule and no next slot
--              failing           its last refresh failed
--              suspended         it failed too often and waits for resume()
--              missing           the view is gone
--              unpopulated       it cannot be read
--              trigger_missing   a source lacks its trigger, or it is disabled, or the source is gone: changes go unnoticed
--              sources_changed   what it reads is not what is watched, and cannot be: other tables, or one that others inherit from by now
--              parent_unchained  it reads another materialised view, follows it not, and has no schedule
--              no_upkeep         nothing looks for what fires no trigger: no event of pg_auto_mv.upkeep is pending on this node
--              no_processor      no Processor is alive on this node
--              paused            the fleet is paused
-- Reads: mv_state_v, mv_sources, _wrong_triggers(), pgrelay.processors, pgrelay.fleet
CREATE VIEW pgauto_mv.health AS
SELECT v.auto_mv_id, r.reason, r.since
FROM pgauto_mv.mv_state_v AS v
CROSS JOIN (SELECT coalesce((SELECT o.name FROM pgrelay.node AS o), 'local') AS name) AS n
CROSS JOIN (
    SELECT coalesce(max(c.action_timeout), interval '5 minutes') AS action_timeout
    FROM pgrelay.channels AS c
    WHERE c.channel = 'pg_auto_mv.refresh_materialised_view'
) AS h
CROSS JOIN LATERAL (
    SELECT 'overdue' AS reason, v.refresh_due_at AS since
    WHERE v.refresh_due_at < clock_timestamp() - interval '1 minute'
      AND NOT v.suspended AND NOT v.mv_missing
      -- A refresh that is still running may take its time, but not more than it is given: anybody can hold the lock that shows it.
      AND (NOT v.refresh_in_progress OR v.refresh_due_at < clock_timestamp() - h.action_timeout)
    UNION ALL
    SELECT 'schedule_overdue', v.next_scheduled_at
    WHERE v.next_scheduled_at < clock_timestamp() - interval '1 minute'
      AND (NOT v.refresh_in_progress OR v.next_scheduled_at < clock_timestamp() - h.action_timeout)
    UNION ALL
    SELECT 'schedule_stopped', v.last_scheduled_at
    WHERE v.schedule_id IS NOT NULL AND v.next_scheduled_at IS NULL
    UNION ALL
    SELECT 'failing', v.failing_since
    WHERE v.failing_since IS NOT NULL AND NOT v.suspended
    UNION ALL
    SELECT 'suspended', v.suspended_at
    WHERE v.suspended
    UNION ALL
    SELECT 'missing', NULL
    WHERE v.mv_missing
    UNION ALL
    SELECT 'unpopulated', NULL
    WHERE NOT v.mv_missing AND NOT v.ispopulated
    UNION ALL
    SELECT 'trigger_missing', NULL
    WHERE EXISTS (
        SELECT FROM pgauto_mv._wrong_triggers(v.auto_mv_id) AS w WHERE w.type IS NOT NULL
    ) OR EXISTS (
        SELECT FROM pgauto_mv.mv_sources AS s
        WHERE s.auto_mv_id = v.auto_mv_id AND to_regclass(format('%I.%I', s.source_schema, s.source_name)) IS NULL
    )
    UNION ALL
    SELECT 'sources_changed', NULL
    WHERE NOT v.mv_missing AND pgauto_mv._sources_have_changed(v.auto_mv_id, v.mv_oid)
    UNION ALL
    SELECT 'parent_unchained', NULL
    WHERE v.schedule_id IS NULL AND NOT v.mv_missing AND EXISTS (
        SELECT
        FROM pgauto_mv.materialised_views AS m
        CROSS JOIN LATERAL pgauto_mv._relations_read(v.mv_oid) AS r
        WHERE m.auto_mv_id = v.auto_mv_id AND m.derive_sources
          AND r.relkind = 'm' AND r.oid <> v.mv_oid AND NOT EXISTS (
            SELECT
            FROM pgauto_mv.mv_chain AS c
            JOIN pgauto_mv.mv_state_v AS p ON p.auto_mv_id = c.parent_id
            WHERE c.child_id = v.auto_mv_id AND p.mv_oid = r.oid
        )
    )
    UNION ALL
    SELECT 'no_upkeep', NULL
    WHERE NOT pgauto_mv._upkeep_is_queued()
    UNION ALL
    SELECT 'no_processor', (SELECT max(p.last_seen) FROM pgrelay.processors AS p WHERE p.node = n.name)
    WHERE NOT EXISTS (
        SELECT FROM pgrelay.processors AS p
        WHERE p.node = n.name AND p.last_seen > clock_timestamp() - interval '15 seconds'
    )
    UNION ALL
    SELECT 'paused', NULL
    FROM pgrelay.fleet AS f
    WHERE f.paused_until > clock_timestamp()
) AS r
WHERE NOT v.inactive;
COMMENT ON VIEW pgauto_mv.health IS 'What has stopped: a row for each registered view and reason, none when all is well.';
REVOKE ALL ON TABLE pgauto_mv.health FROM PUBLIC;
GRANT SELECT ON TABLE pgauto_mv.health TO pgauto_mv_monitor;
