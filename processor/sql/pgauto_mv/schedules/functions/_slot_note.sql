-- Purpose: what a reader of a slot's local time may stumble over.
-- Parameters: p_fields    the cron expression; NULL for an interval
--             p_timezone
--             p_slot
-- Returns: a remark; NULL: the clock is not changed near the slot
CREATE FUNCTION pgauto_mv._slot_note(p_fields pgauto_mv.cron_fields, p_timezone text, p_slot timestamptz)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY INVOKER
-- From PostgreSQL 18 on a name is first looked for among the abbreviations of the session's zone, where UTC can be anything.
SET TimeZone = 'UTC'
AS $$
DECLARE
    c_window CONSTANT interval := '26:00';
    v_local  timestamp := timezone(p_timezone, p_slot);
    v_change timestamptz := pgauto_mv._offset_change(p_timezone, p_slot - c_window, p_slot);
    v_old    timestamp;
BEGIN
    IF v_change IS NOT NULL THEN
        v_old := timezone('UTC', v_change) + pgauto_mv._utc_offset(p_timezone, p_slot - c_window);
        IF v_local < v_old THEN
            RETURN 'the second time: the clock was set back';
        ELSIF v_change = p_slot AND pgauto_mv._next_match(p_fields, v_local) <> v_local THEN
            RETURN format('in place of a time from %s on, which the clock skips', to_char(v_old, 'YYYY-MM-DD HH24:MI'));
        END IF;
    END IF;
    v_change := pgauto_mv._offset_change(p_timezone, p_slot, p_slot + c_window);
    IF v_change IS NOT NULL AND timezone(p_timezone, v_change) <= v_local THEN
        RETURN 'the first time: the clock will be set back';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION pgauto_mv._slot_note(pgauto_mv.cron_fields, text, timestamptz) IS 'Explains a slot near a change of the clock. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._slot_note(pgauto_mv.cron_fields, text, timestamptz) FROM PUBLIC;
