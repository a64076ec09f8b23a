-- Purpose: refuse to be installed where the queue is missing or belongs to somebody else, and create the three group roles.
--          Roles belong to the whole cluster, so a second database finds them there already; two installers in two databases
--          may also race, hence the handler.
-- Creates: pgrelay_notifier_admin, pgrelay_notifier_sender, pgrelay_notifier_monitor
-- Raises: PN010 no queue, or one that the installing role does not own
DO $roles$
DECLARE
    v_role  text;
    v_owner oid := (SELECT n.nspowner FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'pgrelay');
BEGIN
    IF v_owner IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PN010',
            MESSAGE = 'pg_relay_notifier needs pgrelay, which is not installed in this database',
            HINT = 'Run pg-relay-processor install --with notifier, which installs both.';
    END IF;
    -- The sending functions run with their owner's rights and call functions of pgrelay that are granted to nobody.
    IF NOT pg_catalog.pg_has_role(v_owner, 'USAGE') THEN
        RAISE EXCEPTION USING ERRCODE = 'PN010',
            MESSAGE = format('pg_relay_notifier must be installed by the owner of pgrelay, which is %I', pg_catalog.pg_get_userbyid(v_owner)),
            DETAIL = format('The installing role is %I.', current_user),
            HINT = format('Install it as %1$I, or as a role that inherits from it: GRANT %1$I TO %2$I.', pg_catalog.pg_get_userbyid(v_owner), current_user);
    END IF;
    FOREACH v_role IN ARRAY ARRAY['pgrelay_notifier_admin', 'pgrelay_notifier_sender', 'pgrelay_notifier_monitor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = v_role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
    IF NOT pg_catalog.pg_has_role('pgrelay_notifier_admin', 'pgrelay_notifier_sender', 'MEMBER') THEN
        GRANT pgrelay_notifier_sender TO pgrelay_notifier_admin;
    END IF;
    IF NOT pg_catalog.pg_has_role('pgrelay_notifier_admin', 'pgrelay_notifier_monitor', 'MEMBER') THEN
        GRANT pgrelay_notifier_monitor TO pgrelay_notifier_admin;
    END IF;
END
$roles$;
