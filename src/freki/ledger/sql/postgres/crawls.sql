-- Twins of the statements about crawls.

-- name: sessions_of
SELECT id, until, machine, process FROM session
WHERE crawl = ? AND until > extract(epoch FROM clock_timestamp())::double precision;

-- What a crawl stored before waits for the disk with this: that it ended outlives a crash, and so does all.
-- name: crawl_end
UPDATE crawl SET status = ?, ended_at = ?, seconds = seconds + ?
FROM (SELECT set_config('synchronous_commit', 'on', true)) AS durably WHERE id = ?;
