-- What an index of texts asks of the store.

-- name: pages_behind
SELECT page.id, page.at, page.title, page.content_type, body.digest, body.data
FROM page CROSS JOIN url ON url.id = page.url CROSS JOIN host ON host.id = url.host
CROSS JOIN body ON body.id = page.body
WHERE host.crawl = ? AND page.id > ? AND url.reason IN (1, 3)
ORDER BY page.id LIMIT ?;

-- name: is_behind
SELECT 1 FROM page CROSS JOIN url ON url.id = page.url CROSS JOIN host ON host.id = url.host
WHERE host.crawl = ? AND page.id > ? AND url.reason IN (1, 3) LIMIT 1;

-- name: page_read_last
SELECT (SELECT max(id) FROM page), (SELECT at FROM page WHERE id = ?);
