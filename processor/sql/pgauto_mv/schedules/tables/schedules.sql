-- Purpose: when views are refreshed by the clock. Configuration: this table may be replicated.
CREATE TABLE pgauto_mv.schedules (
    schedule_id uuid        NOT NULL DEFAULT pg_catalog.gen_random_uuid(),
    name        text        NOT NULL,
    cron        text,
    every       interval,
    timezone    text        NOT NULL,
    anchor      timestamptz,
    enabled     boolean     NOT NULL DEFAULT true,
    fields      pgauto_mv.cron_fields,
    created_at  timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    updated_at  timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    CONSTRAINT schedules_pkey PRIMARY KEY (schedule_id),
    CONSTRAINT schedules_name UNIQUE (name),
    CONSTRAINT schedules_name_shape CHECK (pg_catalog.char_length(name) BETWEEN 1 AND 200 AND name !~ '[[:cntrl:]]'),
    CONSTRAINT schedules_kind CHECK ((cron IS NULL) <> (every IS NULL)),
    CONSTRAINT schedules_cron CHECK ((cron IS NULL) = (fields IS NOT DISTINCT FROM NULL)),
    CONSTRAINT schedules_anchor CHECK ((every IS NULL) = (anchor IS NULL) AND pg_catalog.isfinite(anchor)),
    CONSTRAINT schedules_every CHECK (EXTRACT(MONTH FROM every) = 0 AND EXTRACT(YEAR FROM every) = 0
                                      AND EXTRACT(DAY FROM every) = 0 AND every >= interval '1 second')
);
COMMENT ON TABLE pgauto_mv.schedules IS 'Schedules that views are assigned to, each a cron expression or a fixed interval. May be replicated.';
COMMENT ON COLUMN pgauto_mv.schedules.schedule_id IS 'Identity.';
COMMENT ON COLUMN pgauto_mv.schedules.name IS 'Name, 1 to 200 characters, no control characters.';
COMMENT ON COLUMN pgauto_mv.schedules.cron IS 'Cron expression of five fields, or a nickname such as @daily.';
COMMENT ON COLUMN pgauto_mv.schedules.every IS 'Fixed interval, kept as seconds: a day is 24 hours here.';
COMMENT ON COLUMN pgauto_mv.schedules.timezone IS 'Zone whose clock the cron expression means, and in which preview() shows the slots.';
COMMENT ON COLUMN pgauto_mv.schedules.anchor IS 'Slots of a fixed interval are at anchor + n × every, for any whole n.';
COMMENT ON COLUMN pgauto_mv.schedules.enabled IS 'A disabled schedule has no slots.';
COMMENT ON COLUMN pgauto_mv.schedules.fields IS 'The cron expression as it was read.';
COMMENT ON COLUMN pgauto_mv.schedules.created_at IS 'When it was created.';
COMMENT ON COLUMN pgauto_mv.schedules.updated_at IS 'When it was last changed.';
REVOKE ALL ON TABLE pgauto_mv.schedules FROM PUBLIC;
GRANT SELECT ON TABLE pgauto_mv.schedules TO pgauto_mv_monitor;
