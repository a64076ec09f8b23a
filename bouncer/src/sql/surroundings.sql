-- What makes the bouncer slow or blind: no trigger that wakes it, no index that leads to stuck messages, policies that hide rows, rows that
-- may have no id; and what keeps it from working, a rule that has something else done in place of an UPDATE or besides. $2 are the states, as literals. The first answer about indexes is whether one holds
-- stuck messages by id: a partial one whose condition is about status alone and names every state. The second is whether one
-- serves at all: that, or one that begins with status.
WITH indexes AS (
    SELECT a.attname AS first_column,
           x.indpred IS NOT NULL AS is_partial,
           x.indpred IS NOT NULL
               AND NOT EXISTS (
                   SELECT FROM unnest($2::text[]) AS s (state)
                   WHERE pg_catalog.strpos(pg_catalog.pg_get_expr(x.indpred, x.indrelid), s.state) = 0
               )
               AND pg_catalog.pg_get_expr(x.indpred, x.indrelid) !~ '(<>|!=|\mNOT\M|\mAND\M)'
               AND NOT EXISTS (
                   SELECT FROM pg_catalog.pg_depend AS d
                   JOIN pg_catalog.pg_attribute AS c ON c.attrelid = d.refobjid AND c.attnum = d.refobjsubid
                   WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = x.indexrelid
                     AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = x.indrelid
                     AND c.attname NOT IN ('id', 'status')
               ) AS is_for_stuck
    FROM pg_catalog.pg_index AS x
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
    WHERE x.indrelid = $1::oid AND x.indisvalid
)
SELECT EXISTS (
           SELECT FROM pg_catalog.pg_trigger AS t
           WHERE t.tgrelid = $1::oid AND t.tgname = 'ingress_failed_notify' AND t.tgenabled IN ('O', 'A')
       ),
       EXISTS (SELECT FROM indexes AS x WHERE x.first_column = 'id' AND x.is_for_stuck),
       EXISTS (
           SELECT FROM indexes AS x
           WHERE x.is_for_stuck OR (x.first_column = 'status' AND NOT x.is_partial)
       ),
       pg_catalog.row_security_active($1::oid),
       EXISTS (
           SELECT FROM pg_catalog.pg_attribute AS a
           WHERE a.attrelid = $1::oid AND a.attname = 'id' AND NOT a.attnotnull
       ),
       EXISTS (
           SELECT FROM pg_catalog.pg_rewrite AS r
           WHERE r.ev_class = $1::oid AND r.ev_type = '2' AND r.ev_enabled IN ('O', 'A')
       )
