-- What the bouncer needs to know about the columns it touches: whether each is there, its type as a cast spells it, and what of the
-- privileges is lacking. With a privilege on the whole table, every column has it.
SELECT w.name,
       pg_catalog.format_type(a.atttypid, a.atttypmod),
       ARRAY(
           SELECT p.privilege
           FROM unnest(w.privileges) AS p (privilege)
           WHERE NOT pg_catalog.has_column_privilege($1::oid, a.attnum, p.privilege)
       )
FROM (
    VALUES (1, 'id', ARRAY['SELECT']),
           (2, 'stage', ARRAY['SELECT', 'UPDATE']),
           (3, 'status', ARRAY['SELECT', 'UPDATE'])
) AS w (place, name, privileges)
LEFT JOIN pg_catalog.pg_attribute AS a
    ON a.attrelid = $1::oid AND a.attname = w.name AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY w.place
