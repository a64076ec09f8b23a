-- Purpose: what REFRESH … CONCURRENTLY would refuse the view for, populated or not. Asked at registration and again before each refresh.
-- Parameters: p_mv_oid
-- Returns: the reason in words, or NULL when it is possible
-- Reads: pg_index, pg_class
CREATE FUNCTION pgauto_mv._no_concurrent_reason(p_mv_oid oid)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE
        WHEN NOT EXISTS (
            SELECT
            FROM pg_index AS i
            WHERE i.indrelid = p_mv_oid
              AND i.indisunique
              AND i.indisvalid
              AND i.indimmediate
              AND i.indpred IS NULL
              AND i.indexprs IS NULL
        ) THEN 'it has no usable unique index: valid, on columns only, without WHERE'
        WHEN NOT has_database_privilege((SELECT c.relowner FROM pg_class AS c WHERE c.oid = p_mv_oid),
                 (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()), 'TEMPORARY')
        THEN 'its owner may not create temporary tables in this database'
    END
$$;
COMMENT ON FUNCTION pgauto_mv._no_concurrent_reason(oid) IS 'Why a view cannot be refreshed concurrently. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._no_concurrent_reason(oid) FROM PUBLIC;
