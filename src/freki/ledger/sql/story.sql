-- The story of one URL.

-- name: rows
SELECT url.id, url.state, url.reason, url.detail, url.depth, url.via, url.hops, url.attempts,
    url.parent, url.found_at, url.due, host.next_at, host.failures, crawl.name, crawl.run, crawl.id
FROM url JOIN host ON host.id = url.host JOIN crawl ON crawl.id = host.crawl
WHERE host.origin = ?1 AND url.print = ?2 AND url.path = ?3 AND (?4 IS NULL OR crawl.name = ?4)
ORDER BY crawl.id;

-- name: hosts
SELECT crawl.name, crawl.run, host.id FROM host JOIN crawl ON crawl.id = host.crawl
WHERE host.origin = ?;

-- name: attempts
SELECT at, reason, detail, timings FROM attempt WHERE url = ? ORDER BY at;

-- name: visit
SELECT at, status, content_type, title, bytes, timings, address, http FROM page WHERE url = ?;

-- In a file there are few crawls besides, and to look at all is quicker than to ask whose a page is.
-- name: links_of_pages
SELECT url, links FROM page WHERE links IS NOT NULL AND ? <> '[]';

-- name: page_of
SELECT host.origin || url.path, host.crawl FROM url JOIN host ON host.id = url.host
WHERE url.id = ?;

-- name: name_of
SELECT host.origin || url.path FROM url JOIN host ON host.id = url.host WHERE url.id = ?;
