-- Twins of the statements about what browsers saw.

-- Whoever has the same picture holds its row, so that nobody deletes it before the commit.
-- name: picture_add
INSERT INTO picture (digest, format, width, height, bytes, data) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (digest) DO UPDATE SET bytes = picture.bytes WHERE false;
