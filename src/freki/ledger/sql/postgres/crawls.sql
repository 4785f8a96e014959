-- Twins of the statements about crawls.

-- name: sessions_of
SELECT id, until, machine, process FROM session
WHERE crawl = ? AND until > extract(epoch FROM clock_timestamp())::double precision;
