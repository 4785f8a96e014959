-- Statements about bodies and pictures that are kept beside the database.

-- name: place
SELECT value FROM secret WHERE name = 'blobs';

-- name: settle
INSERT INTO secret (name, value) VALUES ('blobs', ?) ON CONFLICT (name) DO NOTHING;

-- name: bodies
SELECT 1 FROM body WHERE digest = ? AND length(data) = 0;

-- name: pictures
SELECT 1 FROM picture WHERE digest = ? AND length(data) = 0;
