-- Purpose: the channels of pg_auto_mv. Made with the first registration, not by the install script: pg_restore runs the script of an extension and then
--          brings back the rows of pgrelay.channels, which would meet those of the script.
-- Writes: pgrelay.channels
CREATE FUNCTION pgauto_mv._ensure_channels()
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pgrelay.channels AS c WHERE c.channel = 'pg_auto_mv.refresh_materialised_view') THEN
        BEGIN
            PERFORM pgrelay.register(
                'pg_auto_mv.refresh_materialised_view',
                'SELECT pgauto_mv._process_pending($1::uuid)',
                concurrency_mode => 'per_payload',
                node_restricted => true,
                action_timeout => interval '1 hour',
                description => 'pg_auto_mv: refreshes a materialised view when it is due'
            );
            -- A refresh takes its time, and a batch has little of it.
            PERFORM pgrelay.update('pg_auto_mv.refresh_materialised_view', p_batch => false);
        EXCEPTION WHEN SQLSTATE 'PR002' THEN
            NULL; -- somebody else was faster
        END;
    END IF;
    IF NOT EXISTS (SELECT FROM pgrelay.channels AS c WHERE c.channel = 'pg_auto_mv.upkeep') THEN
        BEGIN
            PERFORM pgrelay.register(
                'pg_auto_mv.upkeep',
                'SELECT pgauto_mv._upkeep()',
                max_retries => 10,
                concurrency_mode => 'serial',
                node_restricted => true,
                description => 'pg_auto_mv: notices what fires no trigger and replaces what was lost, once a minute'
            );
        EXCEPTION WHEN SQLSTATE 'PR002' THEN
            NULL;
        END;
    END IF;
    IF NOT EXISTS (SELECT FROM pgrelay.channels AS c WHERE c.channel = 'pg_auto_mv.sync_mv') THEN
        BEGIN
            PERFORM pgrelay.register(
                'pg_auto_mv.sync_mv',
                'SELECT pgauto_mv._sync_mv($1::uuid)',
                node_restricted => true,
                description => 'pg_auto_mv: asks the other nodes to refresh a materialised view'
            );
        EXCEPTION WHEN SQLSTATE 'PR002' THEN
            NULL;
        END;
    END IF;
END
$$;
COMMENT ON FUNCTION pgauto_mv._ensure_channels() IS 'Registers the channels of pg_auto_mv. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._ensure_channels() FROM PUBLIC;
