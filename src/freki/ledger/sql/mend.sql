-- Putting back what ended, and looking whether a store is sound.

-- name: retry
UPDATE url SET state = 0, reason = NULL, detail = NULL, due = NULL, attempts = 0
WHERE id IN (SELECT value FROM json_each(?));

-- name: forget_visits
DELETE FROM page WHERE url IN (SELECT value FROM json_each(?));

-- What is kept of a body is kept for its pages.
-- name: forget_bodies
DELETE FROM body WHERE id NOT IN (SELECT body FROM page);

-- name: forget_items
DELETE FROM item WHERE url IN (SELECT value FROM json_each(?));

-- name: to_retry
SELECT url.id, url.host, url.state, url.reason FROM url JOIN host ON host.id = url.host
LEFT JOIN page ON page.url = url.id
WHERE host.crawl = :crawl AND url.state >= 2
  AND (:state IS NULL OR url.state = :state)
  AND (:reason IS NULL OR url.reason = :reason)
  AND (:status IS NULL OR page.status BETWEEN :status AND :status_to)
  AND (:origin IS NULL OR host.origin = :origin)
  AND (:url IS NULL OR host.origin || url.path = :url)
  AND (:message IS NULL OR coalesce(url.detail, '')
    LIKE CASE WHEN url.state = 2 THEN :message ELSE :alike END ESCAPE '!');

-- A host that is tried again is tried afresh.
-- name: host_afresh
UPDATE host SET waiting = waiting + ?, failures = 0, robots = NULL, robots_at = NULL WHERE id = ?;

-- name: crawl_unfinished
UPDATE crawl SET status = 'interrupted', ended_at = NULL WHERE id = ?;

-- name: unfinished_crawls
UPDATE crawl SET status = 'interrupted', ended_at = NULL
WHERE status = 'finished'
  AND id IN (SELECT crawl FROM tally WHERE state < 2 AND count > 0);

-- name: counted
SELECT host.crawl, url.state, CASE WHEN url.state < 2 THEN 0 ELSE coalesce(url.reason, 0) END, count(*)
FROM url JOIN host ON host.id = url.host GROUP BY 1, 2, 3;

-- name: tallied
SELECT crawl, state, reason, count FROM tally WHERE count <> 0;

-- name: tally_clear
DELETE FROM tally;

-- name: tally_set
INSERT INTO tally (crawl, state, reason, count) VALUES (?, ?, ?, ?);

-- name: waiting_wrong
SELECT host.id, host.waiting, count(url.id) FROM host
LEFT JOIN url ON url.host = host.id AND url.state = 0
GROUP BY host.id HAVING host.waiting <> count(url.id);

-- name: waiting_set
UPDATE host SET waiting = ? WHERE id = ?;

-- A host whose pages are limited may not be said to have given more than it has: that would end it.
-- name: pages_wrong
SELECT host.id, host.pages, count(url.id) FROM host
LEFT JOIN url ON url.host = host.id AND url.state = 2 AND url.reason NOT IN (2, 4, 5)
WHERE host.pages <> 0 GROUP BY host.id HAVING host.pages > count(url.id);

-- name: pages_set
UPDATE host SET pages = ? WHERE id = ?;

-- name: urls_without_host
SELECT url.id FROM url LEFT JOIN host ON host.id = url.host WHERE host.id IS NULL;

-- name: hosts_without_crawl
SELECT host.id FROM host LEFT JOIN crawl ON crawl.id = host.crawl WHERE crawl.id IS NULL;

-- name: crawls_counted
SELECT count(*) FROM crawl;

-- name: host_adopt
UPDATE host SET crawl = (SELECT max(id) FROM crawl)
WHERE id = ? AND NOT EXISTS (SELECT 1 FROM host AS twin
    WHERE twin.crawl = (SELECT max(id) FROM crawl) AND twin.origin = host.origin);

-- name: sessions_without_crawl
SELECT session.id FROM session LEFT JOIN crawl ON crawl.id = session.crawl WHERE crawl.id IS NULL;

-- name: session_drop
DELETE FROM session WHERE id = ?;

-- name: leased_by_nobody
SELECT url.id FROM url JOIN host ON host.id = url.host
LEFT JOIN session ON session.id = url.session AND session.crawl = host.crawl
WHERE url.state = 1 AND session.id IS NULL;

-- name: unlease
UPDATE url SET state = 0, session = NULL WHERE id = ?;

-- name: held_by_nobody
SELECT host.id FROM host
LEFT JOIN session ON session.id = host.session AND session.crawl = host.crawl
WHERE host.session IS NOT NULL AND session.id IS NULL;

-- name: unhold
UPDATE host SET session = NULL WHERE id = ?;

-- name: pages_without_url
SELECT page.url FROM page LEFT JOIN url ON url.id = page.url WHERE url.id IS NULL;

-- name: pages_of_open_urls
SELECT page.url FROM page JOIN url ON url.id = page.url WHERE url.state <> 2;

-- name: done_without_page
SELECT url.id FROM url LEFT JOIN page ON page.url = url.id WHERE url.state = 2 AND page.url IS NULL;

-- name: pages_without_body
SELECT page.url FROM page LEFT JOIN body ON body.id = page.body WHERE body.id IS NULL;

-- name: unused_bodies
SELECT body.id FROM body LEFT JOIN page ON page.body = body.id WHERE page.url IS NULL;

-- name: requests_without_url
SELECT request.url FROM request LEFT JOIN url ON url.id = request.url WHERE url.id IS NULL;

-- name: items_without_page
SELECT DISTINCT item.url FROM item LEFT JOIN page ON page.url = item.url WHERE page.url IS NULL;

-- name: bodies
SELECT id, digest, data FROM body;

-- name: pages_with_body
SELECT url FROM page WHERE body = ?;

-- name: pages_raw
SELECT url, headers, timings, links FROM page;

-- name: urls_raw
SELECT url.id, url.host, url.print, url.path, url.state, url.reason, url.via FROM url;

-- name: page_drop
DELETE FROM page WHERE url = ?;

-- name: items_drop
DELETE FROM item WHERE url = ?;

-- name: request_drop
DELETE FROM request WHERE url = ?;

-- name: body_drop
DELETE FROM body WHERE id = ?;

-- name: url_drop
DELETE FROM url WHERE id = ?;

-- name: url_again
UPDATE url SET state = 0, reason = NULL, detail = NULL, due = NULL, session = NULL, attempts = 0
WHERE id = ?;

-- name: some_paths
SELECT path, print FROM url LIMIT ?;

-- name: paths
SELECT id, host, path FROM url ORDER BY id;

-- name: print_taken
SELECT 1 FROM url WHERE host = ? AND print = ? AND id <> ?;

-- name: print_set
UPDATE url SET print = ? WHERE id = ?;

-- name: links
SELECT page.url, host.crawl, page.links FROM page
JOIN url ON url.id = page.url JOIN host ON host.id = url.host
WHERE page.links IS NOT NULL AND url.reason <> 5;

-- name: is_known
SELECT 1 FROM host JOIN url ON url.host = host.id
WHERE host.crawl = ? AND host.origin = ? AND url.print = ? AND url.path = ?;

-- name: robots_afresh
UPDATE host SET robots = NULL, robots_at = NULL;

-- name: attempts_without_url
SELECT DISTINCT attempt.url FROM attempt LEFT JOIN url ON url.id = attempt.url WHERE url.id IS NULL;

-- name: attempts_drop
DELETE FROM attempt WHERE url = ?;

-- name: fingerprint_key_set
INSERT INTO secret (name, value) VALUES ('fingerprints', ?);

-- name: crawls_raw
SELECT id, name, settings, seeds FROM crawl;

-- name: settings_reset
UPDATE crawl SET settings = '{}' WHERE id = ?;

-- name: seeds_set
UPDATE crawl SET seeds = ? WHERE id = ?;

-- name: urls_of_host
SELECT id FROM url WHERE host = ?;

-- name: host_drop
DELETE FROM host WHERE id = ?;

-- name: texts_of_pages
SELECT url, content_type, charset, title, description, canonical, language, http, address FROM page;

-- name: texts_of_items
SELECT url, kind, data, detail, key FROM item;

-- name: texts_of_attempts
SELECT url, detail, timings FROM attempt;

-- name: hosts_raw
SELECT id, origin, robots FROM host;

-- name: rules_drop
UPDATE host SET robots = NULL, robots_at = NULL WHERE id = ?;

-- name: texts_of_urls
SELECT id, detail FROM url WHERE detail IS NOT NULL;

-- name: detail_drop
UPDATE url SET detail = NULL WHERE id = ?;

-- name: captures_without_rendering
SELECT capture.id FROM capture LEFT JOIN rendering ON rendering.id = capture.rendering
WHERE rendering.id IS NULL;

-- name: captures_without_picture
SELECT capture.id FROM capture LEFT JOIN picture ON picture.id = capture.picture
WHERE picture.id IS NULL;

-- name: thumbnails_without_capture
SELECT DISTINCT thumbnail.capture FROM thumbnail
LEFT JOIN capture ON capture.id = thumbnail.capture
LEFT JOIN picture ON picture.id = thumbnail.picture
WHERE capture.id IS NULL OR picture.id IS NULL;

-- name: unused_pictures
SELECT picture.id FROM picture
WHERE NOT EXISTS (SELECT 1 FROM capture WHERE capture.picture = picture.id)
  AND NOT EXISTS (SELECT 1 FROM thumbnail WHERE thumbnail.picture = picture.id);

-- name: pictures
SELECT id, digest, data FROM picture;

-- name: capture_drop
DELETE FROM capture WHERE id = ?;

-- name: thumbnails_of_capture_drop
DELETE FROM thumbnail WHERE capture = ?;

-- name: picture_drop
DELETE FROM picture WHERE id = ?;
