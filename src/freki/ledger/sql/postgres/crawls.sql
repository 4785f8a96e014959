-- Twins of the statements about crawls. What sessions that still work have fetched counts as well.

-- name: crawl_latest
SELECT id, name, run, settings, seeds, status, started_at, ended_at, seconds,
    (wire_bytes + (SELECT coalesce(sum(wire_bytes), 0) FROM session WHERE crawl = crawl.id))::bigint
FROM crawl WHERE name = ? ORDER BY run DESC LIMIT 1;

-- name: crawl_newest
SELECT id, name, run, settings, seeds, status, started_at, ended_at, seconds,
    (wire_bytes + (SELECT coalesce(sum(wire_bytes), 0) FROM session WHERE crawl = crawl.id))::bigint
FROM crawl ORDER BY id DESC LIMIT 1;

-- name: sessions_of
SELECT machine, process FROM session
WHERE crawl = ? AND until > extract(epoch FROM clock_timestamp())::double precision;
