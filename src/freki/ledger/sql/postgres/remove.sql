-- Taking a crawl out of a store that others share, bit by bit.
--
-- A body or a picture is kept as long as any crawl has it. Who stores one that is there already holds
-- its row until the commit, so it is looked for other users after the row was locked.

-- name: runs
SELECT id FROM crawl WHERE name = ?;

-- Whoever may still work on it can commit nothing any more.
-- name: sessions
DELETE FROM session WHERE crawl = ?;

-- name: urls
SELECT url.id FROM host JOIN url ON url.host = host.id WHERE host.crawl = ? LIMIT ?;

-- name: pages
DELETE FROM page WHERE url = ANY(?::bigint[]) RETURNING body;

-- name: items
DELETE FROM item WHERE url = ANY(?::bigint[]);

-- name: attempts
DELETE FROM attempt WHERE url = ANY(?::bigint[]);

-- name: requests
DELETE FROM request WHERE url = ANY(?::bigint[]);

-- name: urls_drop
DELETE FROM url WHERE id = ANY(?::bigint[]);

-- name: bodies_hold
SELECT id FROM body WHERE id = ANY(?::bigint[]) ORDER BY id FOR UPDATE;

-- name: bodies
DELETE FROM body WHERE id = ANY(?::bigint[])
  AND NOT EXISTS (SELECT 1 FROM page WHERE page.body = body.id);

-- name: renderings
SELECT id FROM rendering WHERE crawl = ? LIMIT ?;

-- name: thumbnails
DELETE FROM thumbnail USING capture
WHERE thumbnail.capture = capture.id AND capture.rendering = ANY(?::bigint[])
RETURNING thumbnail.picture;

-- name: captures
DELETE FROM capture WHERE rendering = ANY(?::bigint[]) RETURNING picture;

-- name: renderings_drop
DELETE FROM rendering WHERE id = ANY(?::bigint[]);

-- name: pictures_hold
SELECT id FROM picture WHERE id = ANY(?::bigint[]) ORDER BY id FOR UPDATE;

-- name: pictures
DELETE FROM picture WHERE id = ANY(?::bigint[])
  AND NOT EXISTS (SELECT 1 FROM capture WHERE capture.picture = picture.id)
  AND NOT EXISTS (SELECT 1 FROM thumbnail WHERE thumbnail.picture = picture.id);

-- name: likenesses
DELETE FROM likeness WHERE scope = ?;

-- name: deliveries
DELETE FROM delivery WHERE crawl = ?;

-- name: hosts
DELETE FROM host WHERE crawl = ?;

-- name: tally
DELETE FROM tally WHERE crawl = ?;

-- name: crawl
DELETE FROM crawl WHERE id = ?;
