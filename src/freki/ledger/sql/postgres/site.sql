-- Twins of what a crawl shows of a site as a whole.

-- name: slowest
SELECT slow.url, host.origin || url.path, slow.seconds
FROM (SELECT page.url, (page.timings::json->>4)::float8 AS seconds
      FROM page JOIN url ON url.id = page.url JOIN host ON host.id = url.host
      WHERE host.crawl = ?1 AND url.reason IN (1, 3)
      ORDER BY seconds DESC, page.url LIMIT ?2) AS slow
JOIN url ON url.id = slow.url JOIN host ON host.id = url.host ORDER BY seconds DESC, slow.url;
