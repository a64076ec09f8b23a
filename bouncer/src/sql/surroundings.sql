-- What makes the bouncer slow or blind without keeping it from working: no trigger that wakes it, no index that a sweep can follow,
-- policies that hide rows.
SELECT EXISTS (
           SELECT FROM pg_catalog.pg_trigger AS t
           WHERE t.tgrelid = $1::oid AND t.tgname = 'ingress_failed_notify' AND t.tgenabled IN ('O', 'A')
       ),
       EXISTS (
           SELECT FROM pg_catalog.pg_index AS x
           JOIN pg_catalog.pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
           WHERE x.indrelid = $1::oid AND x.indisvalid AND a.attname = 'id'
       ),
       pg_catalog.row_security_active($1::oid)
