-- Purpose: announce the companion, so that Processors and preflight know of it.
-- Writes: pgrelay.companions, pgrelay.fleet
SELECT pgrelay.register_companion('pg_auto_mv', 'pgauto_mv', pgauto_mv.version());
