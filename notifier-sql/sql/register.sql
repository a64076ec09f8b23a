-- Purpose: announce the notifier to the fleet, which reloads within a second. The last thing a script does.
SELECT pgrelay.register_companion('pg_relay_notifier', 'pgrelay_notifier', pgrelay_notifier.version());
