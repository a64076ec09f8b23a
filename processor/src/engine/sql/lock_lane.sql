-- Takes the slot of lane $1 until the transaction ends, unless somebody has it.
SELECT pg_try_advisory_xact_lock($1)
