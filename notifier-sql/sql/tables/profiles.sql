-- Purpose: how to reach a mail server or an endpoint, under a name that senders use. Read anew by every attempt.
CREATE TABLE pgrelay_notifier.profiles (
    name        text        NOT NULL,
    transport   text        NOT NULL,
    channel     text        NOT NULL,
    profile     jsonb       NOT NULL,
    description text,
    created_at  timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    created_by  text        NOT NULL DEFAULT session_user,
    updated_at  timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    CONSTRAINT profiles_pkey PRIMARY KEY (name),
    CONSTRAINT profiles_transport CHECK (transport IN ('smtp', 'm365', 'webhook')),
    CONSTRAINT profiles_profile_object CHECK (pg_catalog.jsonb_typeof(profile) = 'object')
);
COMMENT ON TABLE pgrelay_notifier.profiles IS 'Profiles: how notifications travel. They hold references to secrets, never secrets.';
COMMENT ON COLUMN pgrelay_notifier.profiles.name IS 'Name, 1 to 200 characters, no control characters.';
COMMENT ON COLUMN pgrelay_notifier.profiles.transport IS 'smtp, m365 or webhook; never changes.';
COMMENT ON COLUMN pgrelay_notifier.profiles.channel IS 'Channel of pgrelay that its notifications are sent on unless the call names another.';
COMMENT ON COLUMN pgrelay_notifier.profiles.profile IS 'Settings of the transport; strings such as _env:NAME are resolved on the host of the Processor.';
COMMENT ON COLUMN pgrelay_notifier.profiles.description IS 'Free text for people.';
COMMENT ON COLUMN pgrelay_notifier.profiles.created_at IS 'When it was created.';
COMMENT ON COLUMN pgrelay_notifier.profiles.created_by IS 'Login that created it.';
COMMENT ON COLUMN pgrelay_notifier.profiles.updated_at IS 'When it was last changed.';
REVOKE ALL ON TABLE pgrelay_notifier.profiles FROM PUBLIC;
