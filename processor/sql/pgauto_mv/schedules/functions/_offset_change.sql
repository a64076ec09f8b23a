-- Purpose: when a zone changes its clock within a window of at most 26 hours. No zone has ever done so twice in so short a time (the closest are
--          four days apart), so the offsets at both ends tell whether there is a change, and halving finds it.
-- Parameters: p_timezone
--             p_after   not itself
--             p_until   itself
-- Returns: the first instant with the new offset, to the second; NULL: there is no change
CREATE FUNCTION pgauto_mv._offset_change(p_timezone text, p_after timestamptz, p_until timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY INVOKER
AS $$
DECLARE
    v_offset interval := pgauto_mv._utc_offset(p_timezone, p_after);
    v_before bigint := floor(date_part('epoch', p_after));
    v_after  bigint := ceil(date_part('epoch', p_until));
    v_middle bigint;
BEGIN
    IF pgauto_mv._utc_offset(p_timezone, p_until) = v_offset THEN
        RETURN NULL;
    END IF;
    WHILE v_after - v_before > 1 LOOP
        v_middle := (v_before + v_after) / 2;
        IF pgauto_mv._utc_offset(p_timezone, to_timestamp(v_middle)) = v_offset THEN
            v_before := v_middle;
        ELSE
            v_after := v_middle;
        END IF;
    END LOOP;
    RETURN to_timestamp(v_after);
END
$$;
COMMENT ON FUNCTION pgauto_mv._offset_change(text, timestamptz, timestamptz) IS 'Change of a clock within a window of at most 26 hours. Since 1.0.';
REVOKE ALL ON FUNCTION pgauto_mv._offset_change(text, timestamptz, timestamptz) FROM PUBLIC;
