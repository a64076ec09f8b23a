-- Purpose: the schema every object of the queue lives in.
CREATE SCHEMA pgrelay;
COMMENT ON SCHEMA pgrelay IS 'pg_relay: a transactional event queue served by pg-relay-processor.';
REVOKE ALL ON SCHEMA pgrelay FROM PUBLIC;
GRANT USAGE ON SCHEMA pgrelay TO pgrelay_admin, pgrelay_producer, pgrelay_processor, pgrelay_monitor;
