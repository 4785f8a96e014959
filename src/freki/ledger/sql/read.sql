-- What people ask a store. Read-only.

-- name: tally
SELECT state, reason, count FROM tally WHERE crawl = ? AND count <> 0;

-- name: hosts
SELECT origin, next_at, delay, failures, waiting FROM host
WHERE crawl = ? ORDER BY waiting DESC, id LIMIT ?;

-- A CROSS JOIN is SQLite's word for "in this order": rows come as they are stored, unsorted.
-- name: urls
SELECT url.id, host.origin || url.path AS url, url.state, url.reason, url.detail, page.status,
    url.depth, mother_host.origin || mother.path AS parent, url.via, url.attempts, url.found_at
FROM url CROSS JOIN host ON host.id = url.host
LEFT JOIN page ON page.url = url.id
LEFT JOIN url AS mother ON mother.id = url.parent
LEFT JOIN host AS mother_host ON mother_host.id = mother.host
WHERE host.crawl = :crawl AND url.id > :after
  AND (:state IS NULL OR url.state = :state)
  AND (:reason IS NULL OR url.reason = :reason)
  AND (:status IS NULL OR page.status BETWEEN :status AND :status_to)
  AND (:origin IS NULL OR host.origin = :origin)
  AND (:depth IS NULL OR url.depth = :depth)
  AND (:message IS NULL OR coalesce(url.detail, '')
    LIKE CASE WHEN url.state = 2 THEN :message ELSE :alike END ESCAPE '!')
  AND (:text IS NULL OR instr(lower(host.origin || url.path), lower(:text)) > 0
    OR instr(lower(page.title), lower(:text)) > 0
    OR page.id IN (SELECT value FROM json_each(:among)))
ORDER BY url.id LIMIT :limit;

-- name: pages
SELECT url.id, host.origin || url.path AS url, page.status, page.title, page.content_type,
    page.charset, page.language, page.description, page.canonical, url.depth,
    mother_host.origin || mother.path AS parent, url.via, page.at, page.bytes, page.wire_bytes,
    body.digest, page.http, page.address, page.timings, page.headers, page.robots, page.links,
    url.parent AS parent_id
FROM page CROSS JOIN url ON url.id = page.url CROSS JOIN host ON host.id = url.host
CROSS JOIN body ON body.id = page.body
LEFT JOIN url AS mother ON mother.id = url.parent
LEFT JOIN host AS mother_host ON mother_host.id = mother.host
WHERE host.crawl = :crawl AND page.url > :after
  -- Redirects, sitemaps and checked links are answers, but no pages.
  AND (url.reason IN (1, 3) OR url.reason = 2 AND :redirects)
  AND (:status IS NULL OR page.status BETWEEN :status AND :status_to)
  AND (:origin IS NULL OR host.origin = :origin)
  AND (:content_type IS NULL OR page.content_type LIKE :content_type || '%')
  AND (:url IS NULL OR host.origin || url.path = :url)
  AND (:text IS NULL OR instr(lower(host.origin || url.path), lower(:text)) > 0
    OR instr(lower(page.title), lower(:text)) > 0
    OR page.id IN (SELECT value FROM json_each(:among)))
ORDER BY page.url LIMIT :limit;

-- Answers in the order in which they were stored, with what an archive wants of them.
-- name: arrivals
SELECT page.id AS arrival, host.origin || url.path AS url, page.status, page.title,
    page.content_type, page.charset, page.language, page.description, page.canonical, url.depth,
    mother_host.origin || mother.path AS parent, url.via, page.at, page.bytes, page.wire_bytes,
    body.digest, page.http, page.address, page.timings, page.headers, page.robots, page.links,
    url.parent AS parent_id, url.reason, request.data AS request,
    CASE WHEN :bodies THEN body.data END AS data
FROM page CROSS JOIN url ON url.id = page.url CROSS JOIN host ON host.id = url.host
CROSS JOIN body ON body.id = page.body
LEFT JOIN request ON request.url = page.url
LEFT JOIN url AS mother ON mother.id = url.parent
LEFT JOIN host AS mother_host ON mother_host.id = mother.host
WHERE host.crawl = :crawl AND page.id > :after AND (url.reason IN (1, 3) OR :every)
ORDER BY page.id LIMIT :limit;

-- What a new try may mend: failures, answers that are errors, hosts that could not be asked.
-- name: failures
SELECT alike.reason, alike.origin, alike.message, alike.count, host.origin || url.path
FROM (SELECT url.reason AS reason, host.origin AS origin,
          substr(coalesce(url.detail, ''), 1, 120) AS message,
          count(*) AS count, min(url.id) AS example
      FROM url JOIN host ON host.id = url.host
      WHERE host.crawl = ? AND (url.state = 3 OR url.state = 2 AND url.reason = 3
                                OR url.state = 4 AND url.reason IN (56, 59))
      GROUP BY 1, 2, 3 ORDER BY 4 DESC, 5 LIMIT ?) AS alike
JOIN url ON url.id = alike.example JOIN host ON host.id = url.host
ORDER BY alike.count DESC, alike.example;

-- A detail of a trap (reason 54) begins with its name.
-- name: traps
SELECT substr(url.detail, 1, instr(url.detail || ':', ':') - 1) AS trap, count(*)
FROM url JOIN host ON host.id = url.host
WHERE host.crawl = ? AND url.state = 4 AND url.reason = 54
GROUP BY trap ORDER BY count(*) DESC;

-- name: items
SELECT item.id, host.origin || url.path AS url, item.kind, item.fate, item.at, item.data,
    item.detail, item.key
FROM item CROSS JOIN url ON url.id = item.url CROSS JOIN host ON host.id = url.host
WHERE item.crawl = :crawl AND item.id > :after AND (:fate IS NULL OR item.fate = :fate)
ORDER BY item.id LIMIT :limit;

-- name: item_counts
SELECT fate, kind, count(*) FROM item WHERE crawl = ? GROUP BY fate, kind;

-- name: redirect_source
SELECT host.origin || url.path, url.parent, url.via FROM url JOIN host ON host.id = url.host
WHERE url.id = ?;

-- name: redirect_target
SELECT page.links FROM host JOIN url ON url.host = host.id JOIN page ON page.url = url.id
WHERE host.crawl = ? AND host.origin = ? AND url.print = ? AND url.path = ?;

-- name: body_of
SELECT body.digest, body.data FROM page JOIN body ON body.id = page.body WHERE page.url = ?;
