-- Purpose: the four group roles. Roles belong to the whole cluster, so a second database finds them there already;
--          two installers in two databases may also race, hence the handler.
-- Creates: pgrelay_admin, pgrelay_producer, pgrelay_processor, pgrelay_monitor
DO $roles$
DECLARE
    v_role text;
BEGIN
    FOREACH v_role IN ARRAY ARRAY['pgrelay_admin', 'pgrelay_producer', 'pgrelay_processor', 'pgrelay_monitor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = v_role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
    -- Actions run as the Processor's role and enqueue further events.
    IF NOT pg_catalog.pg_has_role('pgrelay_processor', 'pgrelay_producer', 'MEMBER') THEN
        GRANT pgrelay_producer TO pgrelay_processor;
    END IF;
    IF NOT pg_catalog.pg_has_role('pgrelay_admin', 'pgrelay_producer', 'MEMBER') THEN
        GRANT pgrelay_producer TO pgrelay_admin;
    END IF;
    IF NOT pg_catalog.pg_has_role('pgrelay_admin', 'pgrelay_monitor', 'MEMBER') THEN
        GRANT pgrelay_monitor TO pgrelay_admin;
    END IF;
END
$roles$;
