-- Purpose: the schema every object of pg_auto_mv lives in.
CREATE SCHEMA pgauto_mv;
COMMENT ON SCHEMA pgauto_mv IS 'pg_auto_mv: materialised views kept fresh from changes and schedules, a client of pgrelay.';
REVOKE ALL ON SCHEMA pgauto_mv FROM PUBLIC;
GRANT USAGE ON SCHEMA pgauto_mv TO pgauto_mv_admin, pgauto_mv_monitor, pgrelay_processor;
