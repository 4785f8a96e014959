-- Twins of the service's statements, for many web processes and workers at once, and at the end those
-- that only PostgreSQL has.
--
-- Rows are locked in the order worker, job, event, so that no two wait for each other in a circle.

-- Orders are counted against each other: all that wait, those of one caller, those that are alike.
-- name: orders_in_order
SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.orders', 0));

-- Numbers are given before they are seen; without a turn for each, who reads on could miss one.
-- name: events_in_order
SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.events', 0));

-- name: job_hold
SELECT * FROM job WHERE id = ? FOR UPDATE;

-- name: job_alike
SELECT * FROM job
WHERE likeness = ? AND (state IN ('queued', 'running') OR state = 'done' AND ended_at >= ?)
ORDER BY ended_at IS NULL, ended_at DESC, seq LIMIT 1 FOR UPDATE;

-- name: job_held
SELECT * FROM job WHERE id = ? AND worker = ? AND state = 'running' FOR UPDATE;

-- name: jobs_waiting_for
SELECT * FROM job WHERE crawl = ? AND state = 'queued' ORDER BY seq FOR UPDATE;

-- name: worker_reapable
SELECT 1 FROM worker WHERE id = ? AND until = ? FOR UPDATE SKIP LOCKED;

-- name: next_fetch
SELECT * FROM job
WHERE state = 'queued' AND kind = 'fetch' AND due <= ?
  AND NOT EXISTS (SELECT 1 FROM job AS same
                  WHERE same.crawl = job.crawl AND same.state = 'running')
ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED;

-- Callers are found one after the other, not among all their jobs; of each the first few, since
-- others may be taking the very first at this moment.
-- name: next_job
WITH RECURSIVE waiting AS (
    SELECT min(owner) AS owner FROM job WHERE state = 'queued'
    UNION ALL
    SELECT (SELECT min(owner) FROM job WHERE state = 'queued' AND owner > waiting.owner)
    FROM waiting WHERE waiting.owner IS NOT NULL)
SELECT job.* FROM waiting
CROSS JOIN LATERAL (
    SELECT turn.seq FROM job AS turn
    WHERE turn.state = 'queued' AND turn.owner = waiting.owner AND turn.due <= :now
      AND instr(:kinds, turn.kind) > 0
      AND NOT EXISTS (SELECT 1 FROM job AS same
                      WHERE same.crawl = turn.crawl AND same.state = 'running')
    ORDER BY turn.seq LIMIT 16) AS first
JOIN job ON job.seq = first.seq AND job.state = 'queued'
ORDER BY (SELECT count(*) FROM job AS busy
          WHERE busy.state = 'running' AND busy.owner = waiting.owner), job.seq
LIMIT 1 FOR UPDATE OF job SKIP LOCKED;

-- name: deliveries_due
SELECT id, job, kind, url, secret, body, at, attempts FROM message
WHERE due IS NOT NULL AND due <= ? ORDER BY due LIMIT ? FOR UPDATE SKIP LOCKED;

-- name: oldest_queued
SELECT min(greatest(created_at, due)) FROM job WHERE state = 'queued';

-- Only PostgreSQL has these.

-- name: newest
SELECT coalesce((SELECT max(seq) FROM event), 0), coalesce((SELECT max(seq) FROM job), 0);

-- What came over the wire, pictures, and what a URL takes with its host and its place in indexes.
-- name: bytes_of
SELECT coalesce(sum(crawl.wire_bytes
    + coalesce((SELECT sum(wire_bytes) FROM session WHERE session.crawl = crawl.id), 0)
    + 300 * coalesce((SELECT sum(count) FROM tally WHERE tally.crawl = crawl.id), 0)
    + coalesce((SELECT sum(picture.bytes) FROM rendering
        JOIN capture ON capture.rendering = rendering.id
        JOIN picture ON picture.id = capture.picture WHERE rendering.crawl = crawl.id), 0)
    ), 0)::bigint
FROM crawl WHERE name = ?;

-- name: crawls_before
SELECT DISTINCT name FROM crawl WHERE name ~ '^(crl|scr|fet)_[0-9a-f]{32}$' AND started_at <= ?;

-- Of crawls that somebody works on, and no further than anybody wants to know.
-- name: hosts_due
SELECT count(*) FROM (
    SELECT 1 FROM host JOIN crawl ON crawl.id = host.crawl
    WHERE crawl.status = 'running' AND ready
      AND next_at <= extract(epoch FROM clock_timestamp())::double precision
    LIMIT ?
) AS due;
