-- Purpose: the two group roles. Roles belong to the whole cluster, so a second database finds them there already; two installers
--          in two databases may also race, hence the handler.
-- Creates: pgauto_mv_admin, pgauto_mv_monitor
DO $roles$
DECLARE
    v_role text;
BEGIN
    FOREACH v_role IN ARRAY ARRAY['pgauto_mv_admin', 'pgauto_mv_monitor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = v_role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
    IF NOT pg_catalog.pg_has_role('pgauto_mv_admin', 'pgauto_mv_monitor', 'MEMBER') THEN
        GRANT pgauto_mv_monitor TO pgauto_mv_admin;
    END IF;
END
$roles$;
