-- Purpose: the schema every object of the notifier lives in.
CREATE SCHEMA pgrelay_notifier;
COMMENT ON SCHEMA pgrelay_notifier IS 'pg_relay_notifier: mail and webhooks sent from SQL, delivered by pg-relay-processor.';
REVOKE ALL ON SCHEMA pgrelay_notifier FROM PUBLIC;
GRANT USAGE ON SCHEMA pgrelay_notifier TO pgrelay_notifier_admin, pgrelay_notifier_sender, pgrelay_notifier_monitor, pgrelay_processor;
