-- The story of one URL.

-- name: rows
SELECT url.id, url.state, url.reason, url.detail, url.depth, url.via, url.hops, url.attempts,
    url.parent, url.found_at, url.due, host.next_at, host.failures, crawl.name, crawl.run
FROM url JOIN host ON host.id = url.host JOIN crawl ON crawl.id = host.crawl
WHERE host.origin = ? AND url.print = ? AND url.path = ? ORDER BY crawl.id;

-- name: hosts
SELECT crawl.name, crawl.run, host.id FROM host JOIN crawl ON crawl.id = host.crawl
WHERE host.origin = ?;

-- name: attempts
SELECT at, reason, detail, timings FROM attempt WHERE url = ? ORDER BY at;

-- name: visit
SELECT at, status, content_type, title, bytes, timings, address, http FROM page WHERE url = ?;

-- name: pages_with_links
SELECT page.url, host.origin || url.path, page.links FROM page
JOIN url ON url.id = page.url JOIN host ON host.id = url.host
WHERE host.crawl = (SELECT crawl FROM host WHERE id = (SELECT host FROM url WHERE id = ?))
  AND page.links IS NOT NULL;

-- name: name_of
SELECT host.origin || url.path FROM url JOIN host ON host.id = url.host WHERE url.id = ?;
