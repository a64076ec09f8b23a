-- Milliseconds until the next event of the pool is due, if that is within two seconds; NULL otherwise.
SELECT (extract(epoch FROM min(d.run_at) - clock_timestamp()) * 1000)::double precision
FROM (
    (
        SELECT q.run_at
        FROM pgrelay.queue AS q
        WHERE q.status = 'pending'
          AND q.action_type = '{action_type}'
          AND q.lane IS NULL
          AND q.run_at > statement_timestamp()
          AND q.run_at < statement_timestamp() + interval '2 seconds'
        ORDER BY q.run_at, q.id
        LIMIT 1
    )
    UNION ALL
    (
        SELECT q.run_at
        FROM pgrelay.queue AS q
        WHERE q.status = 'pending'
          AND q.action_type = '{action_type}'
          AND q.lane IS NOT NULL
          AND q.run_at > statement_timestamp()
          AND q.run_at < statement_timestamp() + interval '2 seconds'
        ORDER BY q.run_at, q.id
        LIMIT 1
    )
) AS d
