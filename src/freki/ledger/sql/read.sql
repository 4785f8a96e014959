-- What people ask a store. Read-only.

-- name: tally
SELECT state, reason, count FROM tally WHERE crawl = ? AND count <> 0;

-- name: hosts
SELECT origin, next_at, delay, failures, waiting FROM host
WHERE crawl = ? ORDER BY waiting DESC, id LIMIT ?;

-- name: host_count
SELECT count(DISTINCT url.host) FROM page JOIN url ON url.id = page.url
JOIN host ON host.id = url.host WHERE host.crawl = ?;

-- name: page_sums
SELECT count(*), coalesce(sum(page.bytes), 0), coalesce(sum(page.wire_bytes), 0)
FROM page JOIN url ON url.id = page.url JOIN host ON host.id = url.host WHERE host.crawl = ?;

-- name: urls
SELECT url.id, host.origin || url.path AS url, url.state, url.reason, url.detail, page.status,
    url.depth, mother_host.origin || mother.path AS parent, url.via, url.attempts, url.found_at
FROM url JOIN host ON host.id = url.host
LEFT JOIN page ON page.url = url.id
LEFT JOIN url AS mother ON mother.id = url.parent
LEFT JOIN host AS mother_host ON mother_host.id = mother.host
WHERE host.crawl = :crawl AND url.id > :after
  AND (:state IS NULL OR url.state = :state)
  AND (:reason IS NULL OR url.reason = :reason)
  AND (:status IS NULL OR page.status BETWEEN :status AND :status_to)
  AND (:origin IS NULL OR host.origin = :origin)
  AND (:depth IS NULL OR url.depth = :depth)
ORDER BY url.id LIMIT :limit;

-- name: pages
SELECT url.id, host.origin || url.path AS url, page.status, page.title, page.content_type,
    page.charset, page.language, page.description, page.canonical, url.depth,
    mother_host.origin || mother.path AS parent, url.via, page.at, page.bytes, page.wire_bytes,
    body.digest, page.http, page.address, page.timings, page.headers, page.robots, page.links,
    url.parent AS parent_id
FROM page JOIN url ON url.id = page.url JOIN host ON host.id = url.host
JOIN body ON body.id = page.body
LEFT JOIN url AS mother ON mother.id = url.parent
LEFT JOIN host AS mother_host ON mother_host.id = mother.host
WHERE host.crawl = :crawl AND url.id > :after
  AND url.reason NOT IN (4, 5)  -- sitemaps and checked links are answers, but no pages
  AND (:status IS NULL OR page.status BETWEEN :status AND :status_to)
  AND (:origin IS NULL OR host.origin = :origin)
  AND (:content_type IS NULL OR page.content_type LIKE :content_type || '%')
  AND (:url IS NULL OR host.origin || url.path = :url)
ORDER BY url.id LIMIT :limit;

-- name: redirect_source
SELECT host.origin || url.path, url.parent, url.via FROM url JOIN host ON host.id = url.host
WHERE url.id = ?;

-- name: redirect_target
SELECT url.id, host.origin || url.path FROM page JOIN url ON url.id = page.url
JOIN host ON host.id = url.host WHERE host.crawl = ? AND host.origin = ? AND url.path = ?;

-- name: links_of
SELECT links FROM page WHERE url = ?;

-- name: body_of
SELECT body.data FROM page JOIN body ON body.id = page.body WHERE page.url = ?;
