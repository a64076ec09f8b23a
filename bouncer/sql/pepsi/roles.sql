-- Purpose: the role that owns the mail queue. The service account of the same name logs in as it by peer authentication, hence LOGIN;
--          it has no password, so no other way in is opened. Roles belong to the whole cluster: a second database finds it there already.
-- Creates: pepsi
DO $roles$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = 'pepsi') THEN
        BEGIN
            CREATE ROLE pepsi LOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END IF;
    -- Only who may become the role can give objects to it. A superuser may; since PostgreSQL 16 a role's creator is a member who may not.
    IF NOT pg_catalog.pg_has_role(
        'pepsi',
        (CASE WHEN pg_catalog.current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END)
    ) THEN
        GRANT pepsi TO CURRENT_USER;
    END IF;
END
$roles$;
