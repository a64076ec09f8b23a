-- The time of this statement: everything due before it was visible to the claim sent ahead of it.
SELECT statement_timestamp()
