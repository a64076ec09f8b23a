-- Reads the notify event named in pgrelay.event_id, whose claim lock (and lane lock, if it has a lane) the transaction holds, if it is
-- still pending, due and the head of its lane. The locks were taken by a statement before, so this one sees what their last holders committed.
WITH claimed AS MATERIALIZED (
    SELECT
        q.id, q.run_at, q.expire_at, q.retry_count, q.deduplicate, q.twin_key, q.lane, q.action_type, q.channel, q.node, q.payload
    FROM pgrelay.queue AS q
    WHERE q.id = nullif(current_setting('pgrelay.event_id', true), '')::bigint
      -- Pending; said so that no pending index looks as good as the primary key while the table is small.
      AND q.finished_at IS NULL
      AND q.action_type = 'notify'
      AND q.run_at <= statement_timestamp()
      AND (
          q.lane IS NULL
          OR q.id = (
              SELECT h.id
              FROM pgrelay.queue AS h
              WHERE h.status = 'pending'
                AND h.action_type = 'notify'
                AND h.lane IS NOT NULL
                -- Not "=", see claim_head.
                AND h.lane BETWEEN q.lane AND q.lane
                AND h.run_at <= statement_timestamp()
              ORDER BY h.lane, h.run_at, h.id
              LIMIT 1
          )
      )
      AND NOT EXISTS (SELECT FROM pgrelay.fleet AS f WHERE f.paused_until > statement_timestamp())
)
