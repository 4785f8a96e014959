-- What a crawl shows of a site as a whole. Read-only; reasons 1 and 3 are pages. Nearly every row is
-- looked at, so they come as they are stored: a CROSS JOIN is SQLite's word for "in this order".

-- How many pages each folder has by itself: what stands before the last slash of a path, and any
-- query.
-- name: folders
SELECT host.origin, rtrim(place.path, replace(place.path, '/', '')) AS folder, count(*)
FROM (SELECT host, substr(path, 1, instr(path || '?', '?') - 1) AS path FROM url
      WHERE state = 2 AND reason IN (1, 3)) AS place
CROSS JOIN host ON host.id = place.host
WHERE host.crawl = ?1
GROUP BY host.origin, folder ORDER BY host.origin, folder;

-- From which first folder to which pages were first found, the most travelled ways.
-- name: ways
SELECT begun_at, begun, ended_at, ended, count(*) FROM (
    SELECT mother_host.origin AS begun_at, host.origin AS ended_at,
        substr(mother.path, 1, 1 + instr(substr(mother.path, 2), '/')) AS begun,
        substr(url.path, 1, 1 + instr(substr(url.path, 2), '/')) AS ended
    FROM url CROSS JOIN host ON host.id = url.host
    CROSS JOIN url AS mother ON mother.id = url.parent
    CROSS JOIN host AS mother_host ON mother_host.id = mother.host
    WHERE host.crawl = ?1 AND url.state = 2 AND url.reason IN (1, 3)) AS way
WHERE begun_at <> ended_at OR begun <> ended
GROUP BY begun_at, begun, ended_at, ended ORDER BY count(*) DESC, begun, ended LIMIT ?2;

-- The whole time is the fifth of the timings.
-- name: slowest
SELECT slow.url, host.origin || url.path, slow.seconds
FROM (SELECT page.url, json_extract(page.timings, '$[4]') AS seconds
      FROM page CROSS JOIN url ON url.id = page.url CROSS JOIN host ON host.id = url.host
      WHERE host.crawl = ?1 AND url.reason IN (1, 3)
      ORDER BY seconds DESC, page.url LIMIT ?2) AS slow
JOIN url ON url.id = slow.url JOIN host ON host.id = url.host ORDER BY seconds DESC, slow.url;

-- Bodies that several pages have, those of most pages first.
-- name: twins
SELECT page.body, count(*)
FROM page CROSS JOIN url ON url.id = page.url CROSS JOIN host ON host.id = url.host
WHERE host.crawl = ? AND page.status = 200 AND page.bytes > 0 AND url.reason = 1
GROUP BY page.body HAVING count(*) > 1 ORDER BY count(*) DESC, page.body LIMIT ?;

-- name: pages_of_bodies
SELECT page.body, page.url, host.origin || url.path
FROM page CROSS JOIN url ON url.id = page.url CROSS JOIN host ON host.id = url.host
WHERE host.crawl = ?2 AND page.body IN (SELECT value FROM json_each(?1))
  AND page.status = 200 AND url.reason = 1 ORDER BY page.url;

-- Answers by the first digit of their status.
-- name: classes
SELECT page.status / 100 AS class, count(*)
FROM page CROSS JOIN url ON url.id = page.url CROSS JOIN host ON host.id = url.host
WHERE host.crawl = ?1 GROUP BY class ORDER BY class;
