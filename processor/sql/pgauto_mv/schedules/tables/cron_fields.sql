-- Purpose: a cron expression as the search for its slots wants it: sorted lists, read once when the schedule is made.
CREATE TYPE pgauto_mv.cron_fields AS (
    minutes   integer[],
    hours     integer[],
    days      integer[],
    months    integer[],
    weekdays  integer[],
    both_days boolean,
    wildcard  boolean
);
COMMENT ON TYPE pgauto_mv.cron_fields IS 'What a cron expression says, each list sorted.';
COMMENT ON COLUMN pgauto_mv.cron_fields.minutes IS '0 to 59.';
COMMENT ON COLUMN pgauto_mv.cron_fields.hours IS '0 to 23.';
COMMENT ON COLUMN pgauto_mv.cron_fields.days IS '1 to 31; 32: the last day of the month.';
COMMENT ON COLUMN pgauto_mv.cron_fields.months IS '1 to 12.';
COMMENT ON COLUMN pgauto_mv.cron_fields.weekdays IS '0 (Sunday) to 6; 7 more: the last such day of the month.';
COMMENT ON COLUMN pgauto_mv.cron_fields.both_days IS 'A day must be in days and in weekdays (one of the fields holds a *); otherwise either is enough.';
COMMENT ON COLUMN pgauto_mv.cron_fields.wildcard IS 'Minute or hour is open (* or a/n): every real instant counts when the clock changes.';
