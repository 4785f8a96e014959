-- The statements of an index of texts, by name.

-- name: read_last
SELECT last, at FROM progress;

-- name: last
SELECT last FROM progress WHERE crawl = ?;

-- name: pages_read
SELECT pages FROM progress WHERE crawl = ?;

-- name: note
INSERT INTO progress (crawl, last, at, pages) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (crawl) DO UPDATE SET last = ?2, at = ?3, pages = pages + ?4;

-- name: text_add
INSERT INTO text (rowid, words) VALUES (?, ?);

-- name: hits
SELECT rowid FROM text WHERE text MATCH ?;

-- name: store
SELECT mark FROM store;

-- name: belong
INSERT INTO store (mark) VALUES (?);
