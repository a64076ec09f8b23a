-- Purpose: steps 5 and 6, what keeps a dispatch from refreshing. inactive and mv_missing are asked for every dispatch, the cooldown and a running
--          refresh for scheduled ones only: an event dispatch has waited for refresh_due_at, which includes the cooldown. Whether the view is
--          populated is not asked: step 8b refreshes an unpopulated one without CONCURRENTLY.
-- Parameters: p_state; p_is_scheduled  a slot is due
-- Returns: the reason, or NULL
-- Reads: materialised_views
CREATE FUNCTION pgauto_mv._skip_reason(p_state pgauto_mv.mv_state_v, p_is_scheduled boolean)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN p_state.inactive THEN 'inactive'
        WHEN p_state.mv_missing THEN 'mv_missing'
        -- Whoever asks directly wants to know whether it works again.
        WHEN p_state.suspended AND p_state.direct_refresh_at IS NULL THEN 'suspended'
        WHEN NOT p_is_scheduled THEN NULL
        WHEN p_state.in_cooldown THEN 'in_cooldown'
        WHEN p_state.refresh_in_progress THEN 'refresh_in_progress'
        WHEN p_state.ispopulated AND p_state.data_as_of IS NOT NULL AND NOT p_state.is_pending
             AND (SELECT m.skip_unchanged FROM pgauto_mv.materialised_views AS m WHERE m.auto_mv_id = p_state.auto_mv_id)
        THEN 'unchanged'
    END;
END
$$;
COMMENT ON FUNCTION pgauto_mv._skip_reason(pgauto_mv.mv_state_v, boolean) IS 'What keeps a dispatch from refreshing. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._skip_reason(pgauto_mv.mv_state_v, boolean) FROM PUBLIC;
