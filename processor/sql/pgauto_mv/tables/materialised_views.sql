-- Purpose: the registry: what is kept fresh, and how. Configuration only, by name: this table may be replicated to other nodes,
--          where OIDs mean something else and state is their own.
CREATE TABLE pgauto_mv.materialised_views (
    auto_mv_id         uuid        NOT NULL DEFAULT pg_catalog.gen_random_uuid(),
    mv_schema          text        NOT NULL,
    mv_name            text        NOT NULL,
    refresh_lag        integer     NOT NULL,
    max_wait           integer     NOT NULL,
    cooldown           integer     NOT NULL,
    concurrent         boolean     NOT NULL,
    index_policy       text        NOT NULL,
    is_active          boolean     NOT NULL DEFAULT true,
    schedule_id        uuid,
    events             text[]      NOT NULL,
    derive_sources     boolean     NOT NULL,
    fire_on_replica    boolean     NOT NULL,
    sync_after_refresh boolean     NOT NULL,
    skip_unchanged     boolean     NOT NULL,
    lock_timeout       interval    NOT NULL,
    retry_growth       numeric     NOT NULL,
    retry_max          integer     NOT NULL,
    suspend_after      integer     NOT NULL,
    keep_log           interval    NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    updated_at         timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    CONSTRAINT materialised_views_pkey PRIMARY KEY (auto_mv_id),
    CONSTRAINT materialised_views_schedule FOREIGN KEY (schedule_id) REFERENCES pgauto_mv.schedules (schedule_id),
    CONSTRAINT materialised_views_seconds CHECK (refresh_lag BETWEEN 0 AND 31536000 AND max_wait BETWEEN 0 AND 31536000
                                                 AND cooldown BETWEEN 0 AND 31536000),
    CONSTRAINT materialised_views_index_policy CHECK (index_policy IN ('error', 'plain', 'skip')),
    CONSTRAINT materialised_views_events CHECK (events <@ ARRAY['insert', 'update', 'delete', 'truncate']),
    CONSTRAINT materialised_views_lock_timeout CHECK (lock_timeout BETWEEN interval '1 millisecond' AND interval '1 day'),
    CONSTRAINT materialised_views_retry CHECK (retry_growth BETWEEN 1 AND 10 AND retry_max BETWEEN 60 AND 31536000),
    CONSTRAINT materialised_views_suspend_after CHECK (suspend_after BETWEEN 0 AND 1000000),
    CONSTRAINT materialised_views_keep_log CHECK (keep_log >= interval '0')
);
COMMENT ON TABLE pgauto_mv.materialised_views IS 'Registered materialised views and their settings. May be replicated.';
COMMENT ON COLUMN pgauto_mv.materialised_views.auto_mv_id IS 'Identity of the registration; the payload of its events.';
COMMENT ON COLUMN pgauto_mv.materialised_views.mv_schema IS 'Schema of the view; follows ALTER … SET SCHEMA at the next dispatch.';
COMMENT ON COLUMN pgauto_mv.materialised_views.mv_name IS 'Name of the view; follows ALTER … RENAME at the next dispatch.';
COMMENT ON COLUMN pgauto_mv.materialised_views.refresh_lag IS 'Seconds of quiet after the latest event before the view is refreshed.';
COMMENT ON COLUMN pgauto_mv.materialised_views.max_wait IS 'Seconds after the first event at which it is refreshed even without quiet; 0: no such limit.';
COMMENT ON COLUMN pgauto_mv.materialised_views.cooldown IS 'Seconds after a refresh in which no other begins.';
COMMENT ON COLUMN pgauto_mv.materialised_views.concurrent IS 'Whether to use CONCURRENTLY; what was used is in mv_refresh_log.';
COMMENT ON COLUMN pgauto_mv.materialised_views.index_policy IS 'What to do when CONCURRENTLY is not possible on a populated view: error, plain (refresh without it) or skip.';
COMMENT ON COLUMN pgauto_mv.materialised_views.is_active IS 'False: nothing is refreshed; events and the schedule are kept for later.';
COMMENT ON COLUMN pgauto_mv.materialised_views.schedule_id IS 'Schedule of the view; kept while it is inactive.';
COMMENT ON COLUMN pgauto_mv.materialised_views.events IS 'Which changes of the sources count: insert, update, delete, truncate.';
COMMENT ON COLUMN pgauto_mv.materialised_views.derive_sources IS 'Sources are taken from the definition of the view; false: they were given.';
COMMENT ON COLUMN pgauto_mv.materialised_views.fire_on_replica IS 'Changes applied by logical replication count as well.';
COMMENT ON COLUMN pgauto_mv.materialised_views.sync_after_refresh IS 'After a refresh the other nodes are asked for theirs.';
COMMENT ON COLUMN pgauto_mv.materialised_views.skip_unchanged IS 'A scheduled slot is skipped when no event came since the last refresh.';
COMMENT ON COLUMN pgauto_mv.materialised_views.lock_timeout IS 'How long a refresh waits for the lock of the view, and readers behind it for the refresh.';
COMMENT ON COLUMN pgauto_mv.materialised_views.retry_growth IS 'Factor by which the delay of 60 s grows with each further failure; 1: it does not.';
COMMENT ON COLUMN pgauto_mv.materialised_views.retry_max IS 'Longest delay of a retry in seconds.';
COMMENT ON COLUMN pgauto_mv.materialised_views.suspend_after IS 'Consecutive failures after which the view is suspended until resume(); 0: never.';
COMMENT ON COLUMN pgauto_mv.materialised_views.keep_log IS 'How long rows of mv_refresh_log are kept.';
COMMENT ON COLUMN pgauto_mv.materialised_views.created_at IS 'When it was registered.';
COMMENT ON COLUMN pgauto_mv.materialised_views.updated_at IS 'When its settings were last changed.';
REVOKE ALL ON TABLE pgauto_mv.materialised_views FROM PUBLIC;
GRANT SELECT ON TABLE pgauto_mv.materialised_views TO pgauto_mv_monitor;
