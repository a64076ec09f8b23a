-- Called by SECURITY DEFINER functions only, whose search_path it runs under.
-- Purpose: wake a sleeping Processor at commit. NOTIFY serialises all committers of the server, so it is sent only when somebody sleeps:
--          a sleeper holds a shared advisory lock, and an exclusive attempt that succeeds proves that nobody does.
-- Parameters: p_action_type  the pool that has work: sql or notify
-- The keys are 5283401 (sql) and 5283402 (notify); the topics are pgrelay_sql and pgrelay_notify and carry no payload.
CREATE FUNCTION pgrelay._wake(p_action_type text)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    -- Each pair is one expression, so that no error can come between its calls and leave the lock behind. Where the exclusive attempt fails
    -- and a shared one does too, it was another caller that asked: then nobody slept.
    IF p_action_type = 'sql' THEN
        IF NOT (pg_try_advisory_lock(5283401) AND pg_advisory_unlock(5283401))
           AND (pg_try_advisory_lock_shared(5283401) AND pg_advisory_unlock_shared(5283401)) THEN
            PERFORM pg_notify('pgrelay_sql', '');
        END IF;
    ELSIF NOT (pg_try_advisory_lock(5283402) AND pg_advisory_unlock(5283402))
          AND (pg_try_advisory_lock_shared(5283402) AND pg_advisory_unlock_shared(5283402)) THEN
        PERFORM pg_notify('pgrelay_notify', '');
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay._wake(text) IS 'Sends a wake-up if a Processor of the pool sleeps. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay._wake(text) FROM PUBLIC;
