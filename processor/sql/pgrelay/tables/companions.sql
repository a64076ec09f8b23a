-- Purpose: SQL packages that build on pgrelay and announce themselves (the notifier, pg_auto_mv).
CREATE TABLE pgrelay.companions (
    name          text        NOT NULL,
    schema_name   text        NOT NULL,
    version       text        NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    CONSTRAINT companions_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE pgrelay.companions IS 'Installed companions.';
COMMENT ON COLUMN pgrelay.companions.name IS 'Name of the companion, for example pg_relay_notifier.';
COMMENT ON COLUMN pgrelay.companions.schema_name IS 'Schema its objects live in.';
COMMENT ON COLUMN pgrelay.companions.version IS 'Installed version.';
COMMENT ON COLUMN pgrelay.companions.registered_at IS 'When it last announced itself.';
REVOKE ALL ON TABLE pgrelay.companions FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay.companions TO pgrelay_admin, pgrelay_processor, pgrelay_monitor;
