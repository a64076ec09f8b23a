-- Purpose: refuse a transaction whose snapshot may be older than what others have sent: what must not be removed while it is needed could
--          not be seen to be needed. READ COMMITTED takes a new snapshot for every statement, hence after every lock.
-- Parameters: p_call  what is refused
-- Raises: PN012 isolation level
CREATE FUNCTION pgrelay_notifier._check_isolation(p_call text)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
DECLARE
    v_level text := current_setting('transaction_isolation');
BEGIN
    IF v_level NOT IN ('read committed', 'read uncommitted') THEN
        PERFORM pgrelay_notifier._refuse('isolation level', format('%s needs a transaction that is READ COMMITTED', p_call),
            format('transaction_isolation = %s', v_level), 'Call it outside of a transaction block, or after BEGIN ISOLATION LEVEL READ COMMITTED.');
    END IF;
END
$$;
COMMENT ON FUNCTION pgrelay_notifier._check_isolation(text) IS 'Refuses a transaction whose snapshot may be too old. Since 1.0.';
REVOKE ALL ON FUNCTION pgrelay_notifier._check_isolation(text) FROM PUBLIC;
