-- Handing items to somebody outside.

-- name: taken
SELECT item FROM delivery WHERE crawl = ? AND name = ?;

-- name: take
INSERT INTO delivery (crawl, name, item) VALUES (?, ?, ?)
ON CONFLICT (crawl, name) DO UPDATE SET item = excluded.item;

-- name: item_failed
UPDATE item SET fate = 2, detail = ?, key = NULL WHERE id = ?;
