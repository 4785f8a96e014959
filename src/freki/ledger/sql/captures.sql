-- Statements about what browsers saw.

-- name: rendering_add
INSERT INTO rendering (crawl, url, address, final_url, at, status, reason, detail, title, settled,
    phases, console, failed, requests, blocked)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: picture_add
INSERT INTO picture (digest, format, width, height, bytes, data) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (digest) DO NOTHING;

-- name: picture_id
SELECT id FROM picture WHERE digest = ?;

-- name: picture_data
SELECT data, format, width, height FROM picture
WHERE digest = :digest AND (:crawl IS NULL
  OR EXISTS (SELECT 1 FROM capture JOIN rendering ON rendering.id = capture.rendering
             WHERE capture.picture = picture.id AND rendering.crawl = :crawl)
  OR EXISTS (SELECT 1 FROM thumbnail JOIN capture ON capture.id = thumbnail.capture
             JOIN rendering ON rendering.id = capture.rendering
             WHERE thumbnail.picture = picture.id AND rendering.crawl = :crawl));

-- name: capture_add
INSERT INTO capture (rendering, viewport, tile, tiles, top, truncated, blank, phash, likeness, picture)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: thumbnail_add
INSERT OR IGNORE INTO thumbnail (capture, width, picture) VALUES (?, ?, ?);

-- name: alike
SELECT DISTINCT capture, phash FROM likeness
WHERE scope = ?1 AND band IN (SELECT value FROM json_each(?2)) ORDER BY capture;

-- name: likeness_add
INSERT INTO likeness (scope, band, capture, phash) VALUES (?, ?, ?, ?);

-- name: capture_leads
UPDATE capture SET likeness = id WHERE id = ?;

-- A stacked list leaves out what only looks like something else in it.
-- name: rendering_ids
SELECT id FROM rendering
WHERE id > :after
  AND (:crawl IS NULL OR crawl = :crawl)
  AND (:id IS NULL OR id = :id)
  AND (:url IS NULL OR url = :url)
  AND (:address IS NULL OR address = :address)
  AND (:reason IS NULL OR reason = :reason)
  AND (:status IS NULL OR status BETWEEN :status AND :status_to)
  AND (:text IS NULL OR instr(lower(address), lower(:text)) > 0
    OR instr(lower(title), lower(:text)) > 0)
  AND (:failed IS NULL OR (reason <> 1) = :failed)
  AND (:blank IS NULL OR EXISTS (
      SELECT 1 FROM capture WHERE rendering = rendering.id AND blank = :blank))
  AND (:likeness IS NULL OR EXISTS (
      SELECT 1 FROM capture WHERE rendering = rendering.id AND likeness = :likeness))
  AND (:stacked IS NULL OR NOT EXISTS (
      SELECT 1 FROM capture WHERE rendering = rendering.id AND likeness <> capture.id)
    OR EXISTS (SELECT 1 FROM capture
      WHERE rendering = rendering.id AND coalesce(likeness, capture.id) = capture.id))
ORDER BY id LIMIT :limit;

-- name: renderings
SELECT id, crawl, url, address, final_url, at, status, reason, detail, title, settled, phases,
    console, failed, requests, blocked
FROM rendering WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id;

-- name: captures
SELECT capture.id, viewport, tile, tiles, top, truncated, blank, phash, likeness,
    picture.digest, picture.format, picture.width, picture.height, picture.bytes
FROM capture JOIN picture ON picture.id = capture.picture
WHERE capture.rendering = ? ORDER BY capture.id;

-- name: thumbnails
SELECT thumbnail.width, picture.height, picture.digest, picture.bytes
FROM thumbnail JOIN picture ON picture.id = thumbnail.picture
WHERE thumbnail.capture = ? ORDER BY thumbnail.width;

-- The largest first; what looks like nothing else is no group.
-- name: groups
SELECT capture.likeness, count(*) FROM capture JOIN rendering ON rendering.id = capture.rendering
WHERE (:crawl IS NULL OR rendering.crawl = :crawl) AND capture.likeness IS NOT NULL
GROUP BY capture.likeness HAVING count(*) > 1 ORDER BY count(*) DESC, capture.likeness LIMIT :limit;

-- How many captures look like each of these, which are the first of their groups.
-- name: stacks
SELECT likeness, count(*) FROM capture WHERE likeness IN (SELECT value FROM json_each(?))
GROUP BY likeness;

-- name: renderings_of
SELECT id FROM rendering WHERE url = ?;

-- name: thumbnails_drop
DELETE FROM thumbnail WHERE capture IN (SELECT id FROM capture WHERE rendering = ?);

-- name: likeness_drop
DELETE FROM likeness WHERE capture IN (SELECT id FROM capture WHERE rendering = ?);

-- name: captures_drop
DELETE FROM capture WHERE rendering = ?;

-- name: rendering_drop
DELETE FROM rendering WHERE id = ?;

-- name: pictures_sweep
DELETE FROM picture
WHERE NOT EXISTS (SELECT 1 FROM capture WHERE capture.picture = picture.id)
  AND NOT EXISTS (SELECT 1 FROM thumbnail WHERE thumbnail.picture = picture.id);
