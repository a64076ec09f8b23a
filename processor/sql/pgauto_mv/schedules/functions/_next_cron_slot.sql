-- Purpose: the next slot of a cron expression, by the clock of its zone. The search walks the stretches of constant offset. Where two of them
--          meet, the clock skips times or shows them again:
--            skipped    a fixed time has its slot right after the gap, one for all of them; a wildcard has none
--            repeated   a fixed time has its slot the first time only; a wildcard each time
--          A change only matters within 26 hours of the place searched from or of the minute found, since no clock was ever changed by more
--          than a day; the years between are jumped over.
-- Parameters: p_fields    the expression
--             p_timezone  a zone of pg_timezone_names
--             p_after     the slot is later than this
-- Returns: the slot; NULL: there is none
CREATE FUNCTION pgauto_mv._next_cron_slot(p_fields pgauto_mv.cron_fields, p_timezone text, p_after timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY INVOKER
-- From PostgreSQL 18 on a name is first looked for among the abbreviations of the session's zone, where UTC can be anything.
SET TimeZone = 'UTC'
AS $$
DECLARE
    c_window CONSTANT interval := '26:00';
    v_at     timestamptz := p_after;
    v_offset interval := pgauto_mv._utc_offset(p_timezone, p_after);
    -- The first local time that may be the slot's.
    v_from   timestamp := timezone(p_timezone, p_after) + interval '1 microsecond';
    v_match  timestamp;
    v_slot   timestamptz;
    v_change timestamptz;
    v_skips  timestamp;
    v_shows  timestamp;
BEGIN
    v_change := pgauto_mv._offset_change(p_timezone, p_after - c_window, p_after);
    IF v_change IS NOT NULL AND NOT p_fields.wildcard THEN
        -- What the clock shows again after it was set back has had its slot.
        v_from := greatest(v_from, timezone('UTC', v_change) + pgauto_mv._utc_offset(p_timezone, p_after - c_window));
    END IF;
    LOOP
        v_match := pgauto_mv._next_match(p_fields, v_from);
        IF v_match IS NULL THEN
            RETURN NULL;
        END IF;
        v_slot := timezone('UTC', v_match - v_offset);
        v_change := pgauto_mv._offset_change(p_timezone, v_at, least(v_slot, v_at + c_window));
        IF v_change IS NOT NULL THEN
            v_skips := timezone('UTC', v_change) + v_offset;
            v_shows := timezone(p_timezone, v_change);
            IF NOT p_fields.wildcard AND v_match < v_shows THEN
                RETURN v_change;
            END IF;
            v_from := CASE WHEN p_fields.wildcard THEN v_shows ELSE greatest(v_skips, v_shows) END;
            v_at := v_change;
        ELSIF v_slot <= v_at + c_window THEN
            RETURN v_slot;
        ELSE
            v_from := v_match;
            v_at := greatest(v_at + c_window, v_slot - c_window);
        END IF;
        v_offset := pgauto_mv._utc_offset(p_timezone, v_at);
    END LOOP;
END
$$;
COMMENT ON FUNCTION pgauto_mv._next_cron_slot(pgauto_mv.cron_fields, text, timestamptz) IS 'Next slot of a cron expression. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._next_cron_slot(pgauto_mv.cron_fields, text, timestamptz) FROM PUBLIC;
