-- The statements about crawls as a whole.

-- name: crawl_latest
SELECT id, name, run, settings, seeds, status, started_at, ended_at, seconds, wire_bytes, program
FROM crawl WHERE name = ? ORDER BY run DESC LIMIT 1;

-- name: crawl_newest
SELECT id, name, run, settings, seeds, status, started_at, ended_at, seconds, wire_bytes, program
FROM crawl ORDER BY id DESC LIMIT 1;

-- name: crawl_names
SELECT name FROM crawl GROUP BY name ORDER BY max(id) DESC;

-- name: crawl_begin
INSERT INTO crawl (name, run, settings, seeds, status, started_at, program)
VALUES (?, (SELECT coalesce(max(run), 0) + 1 FROM crawl WHERE name = ?), ?, ?, 'running', ?, ?)
ON CONFLICT (name, run) DO NOTHING;

-- name: crawl_resume
UPDATE crawl SET settings = ?, seeds = ?, status = 'running',
    ended_at = coalesce(ended_at, started_at) WHERE id = ?;

-- name: crawl_end
UPDATE crawl SET status = ?, ended_at = ?, seconds = seconds + ? WHERE id = ?;

-- Found as seeds (0) and by redirects (2); a sitemap is at depth 0 as well.
-- name: cookies_keep
UPDATE crawl SET cookies = ? WHERE id = ?;

-- name: cookies_of
SELECT cookies FROM crawl WHERE id = ?;

-- name: start_pages
SELECT origin || path FROM url INDEXED BY url_start JOIN host ON host.id = url.host
WHERE host.crawl = ? AND url.depth = 0 AND url.via IN (0, 2) AND url.state <> 4;

-- A session whose lease is over is nobody's: whoever joins next takes it back.
-- name: sessions_of
SELECT id, until, machine, process FROM session
WHERE crawl = ? AND until > CAST(strftime('%s', 'now') AS REAL);
