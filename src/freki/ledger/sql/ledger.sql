-- The statements of the ledger, by name. Parsed once by statements.py.
--
-- `state < 2` is what the partial index url_open is made with: SQLite does not see that `state = 0`
-- implies it. INDEXED BY turns a plan that would look at every URL of a host into an error, and
-- NOT INDEXED leaves the order of the rows, where SQLite would take an index that helps to group.

-- name: session_open
INSERT INTO session (crawl, until, machine, process) VALUES (?, ?, ?, ?);

-- name: session_renew
UPDATE session SET until = ? WHERE id = ?;

-- name: session_close
DELETE FROM session WHERE id = ?;

-- name: session_alive
SELECT 1 FROM session WHERE id = ?;

-- name: sessions
SELECT id, until, machine, process FROM session WHERE crawl = ?;

-- The last date that is known of a crawl: of its end, or of when a session was renewed.
-- name: last_date
SELECT max(coalesce((SELECT ended_at FROM crawl WHERE id = ?1), 0),
    coalesce((SELECT max(until) - ?2 FROM session WHERE crawl = ?1), 0));

-- name: hosts_back
UPDATE host SET next_at = max(0, next_at - ?1), robots_at = robots_at - ?1 WHERE crawl = ?2;

-- name: urls_back
UPDATE url INDEXED BY url_open SET due = due - ?1
WHERE state < 2 AND due IS NOT NULL AND host IN (SELECT id FROM host WHERE crawl = ?2);

-- What a session held, given back. Its hosts rest first: when the last request went out is unknown.
-- name: leased_by_host
SELECT host, count(*) FROM url INDEXED BY url_open
WHERE state < 2 AND state = 1 AND session = ? GROUP BY host;

-- name: urls_release
UPDATE url INDEXED BY url_open SET state = 0, session = NULL, attempts = attempts - ?
WHERE state < 2 AND state = 1 AND session = ?;

-- name: hosts_release
UPDATE host SET session = NULL, next_at = max(next_at, ?1 + max(coalesce(delay, 0), ?2))
WHERE session = ?3;

-- name: hosts_due
SELECT id, origin, next_at, delay, failures, pages, robots, robots_at, robots_status, robots_tries
FROM host
WHERE crawl = ?1 AND waiting > 0 AND next_at <= ?2 AND session IS NULL
  AND (?4 = '[]' OR id NOT IN (SELECT value FROM json_each(?4)))
ORDER BY next_at LIMIT ?3;

-- name: next_due
SELECT min(next_at) FROM host WHERE crawl = ?1 AND waiting > 0 AND session IS NULL
  AND (?2 = '[]' OR id NOT IN (SELECT value FROM json_each(?2)));

-- Dates that nobody sets: a store was damaged, or its clock was.
-- name: urls_now
UPDATE url INDEXED BY url_open SET due = NULL WHERE state < 2 AND state = 0 AND due > ?2
AND host IN (SELECT id FROM host WHERE crawl = ?1 AND waiting > 0 AND next_at > ?2);

-- name: hosts_now
UPDATE host SET next_at = ?1 WHERE crawl = ?2 AND waiting > 0 AND next_at > ?3;

-- Somebody else, or ourselves with a URL in hand.
-- name: anybody
SELECT 1 FROM session WHERE crawl = ?1 AND id <> ?2
UNION ALL SELECT 1 FROM url INDEXED BY url_open WHERE state < 2 AND state = 1 AND session = ?2
LIMIT 1;

-- name: host_of_id
SELECT id, origin, next_at, delay, failures, pages, robots, robots_at, robots_status, robots_tries
FROM host WHERE id = ?1 AND session IS ?2;

-- name: host_rules
UPDATE host SET robots = ?, robots_at = ?, robots_status = ?, robots_tries = ? WHERE id = ?;

-- name: host_pages
UPDATE host SET pages = pages + ? WHERE id = ?;

-- name: leased_of_host
SELECT count(*) FROM url INDEXED BY url_open WHERE state < 2 AND state = 1 AND host = ?;

-- What a host's budget leaves no room for (reason 53). Found again later, it is refused again.
-- name: refuse_rest
UPDATE url INDEXED BY url_open SET state = 4, reason = 53, due = NULL
WHERE state < 2 AND state = 0 AND host = ?;

-- name: host_empty
UPDATE host SET waiting = 0 WHERE id = ?;

-- name: host_take
UPDATE host SET session = ?, next_at = ?, waiting = waiting - ? WHERE id = ?;

-- A rest comes with a batch, perhaps later than a longer one that came with a claim.
-- name: host_rest
UPDATE host SET next_at = max(next_at, ?), delay = ?, failures = ? WHERE id = ?;

-- name: host_leave
UPDATE host SET session = NULL, next_at = max(next_at, ?) WHERE id = ?;

-- name: host_add
INSERT INTO host (crawl, origin) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: host_id
SELECT id FROM host WHERE crawl = ? AND origin = ?;

-- name: host_gain
UPDATE host SET waiting = waiting + ? WHERE id = ?;

-- name: first_due
SELECT min(due) FROM url INDEXED BY url_open WHERE state < 2 AND state = 0 AND host = ?;

-- name: urls_due
SELECT print, id, path, depth, attempts, hops, via, request.data FROM url INDEXED BY url_open
LEFT JOIN request ON request.url = url.id
WHERE state < 2 AND state = 0 AND host = ? AND (due IS NULL OR due <= ?)
ORDER BY priority, id LIMIT ?;

-- name: url_lease
UPDATE url SET state = 1, session = ?, due = NULL, attempts = attempts + 1 WHERE id = ?;

-- name: url_find
SELECT id, path, state, reason, depth FROM url WHERE host = ? AND print = ?;

-- name: url_add
INSERT INTO url (host, print, path, state, reason, depth, priority, via, hops, parent, found_at, detail)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (host, print) DO NOTHING;

-- A URL that is known and waits gets a request once; the first one counts.
-- name: request_add
INSERT INTO request (url, data) SELECT id, ? FROM url WHERE host = ? AND print = ? AND state < 2
ON CONFLICT (url) DO NOTHING;

-- name: request_of
INSERT INTO request (url, data) VALUES (?, ?) ON CONFLICT (url) DO NOTHING;

-- An item whose key is taken is dropped, and says by which.
-- name: item_add
INSERT INTO item (crawl, url, at, fate, kind, data, detail, key)
SELECT ?1, ?2, ?3, iif(twin IS NULL, ?4, 1), ?5, ?6,
    iif(twin IS NULL, ?7, 'twin: item ' || twin || ' has the same key ' || ?8),
    iif(twin IS NULL, ?8, NULL)
FROM (SELECT (SELECT id FROM item WHERE crawl = ?1 AND key = ?8) AS twin);

-- name: url_end
UPDATE url SET state = ?, reason = ?, detail = ?, due = ?, session = NULL
WHERE id = ? AND state = 1 AND session = ?;

-- name: url_admit
UPDATE url SET state = 0, reason = NULL, detail = NULL, depth = ?, priority = ?, via = ?, hops = ?,
    parent = ? WHERE id = ? AND state = 4;

-- A sitemap or a check (7 and 8) stays one, whoever links to it.
-- name: url_nearer
UPDATE url SET depth = ?, via = CASE WHEN via IN (7, 8) THEN via ELSE ? END,
    hops = min(hops, ?), parent = ? WHERE id = ?;

-- Rows are numbered in order and we hold the write lock: what is above the mark is what we added.
-- name: url_mark
SELECT coalesce(max(id), 0) FROM url;

-- name: added_since
SELECT host, state, coalesce(reason, 0), count(*) FROM url NOT INDEXED
WHERE id > ? GROUP BY 1, 2, 3;

-- A body that was not worth keeping for one page may be for another.
-- name: body_add
INSERT INTO body (digest, data) VALUES (?, ?)
ON CONFLICT (digest) DO UPDATE SET data = excluded.data
WHERE body.data IS NULL AND excluded.data IS NOT NULL;

-- name: page_add
INSERT INTO page (url, at, status, content_type, charset, title, description, canonical, language,
    robots, http, address, headers, timings, wire_bytes, bytes, body, links)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    (SELECT id FROM body WHERE digest = ?), ?);

-- name: page_links
SELECT links, hops FROM page JOIN url ON url.id = page.url WHERE page.url = ?;

-- name: attempt_add
INSERT INTO attempt (url, at, reason, detail, timings) VALUES (?, ?, ?, ?, ?);

-- name: tally_add
INSERT INTO tally (crawl, state, reason, count) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (crawl, state, reason) DO UPDATE SET count = tally.count + ?4;

-- name: tally
SELECT state, reason, count FROM tally WHERE crawl = ?;

-- Waiting, leased, and stored: redirects, sitemaps and checked links (reasons 2, 4 and 5) are
-- answers, but no pages.
-- name: counts
SELECT coalesce(sum(CASE WHEN state = 0 THEN count END), 0),
       coalesce(sum(CASE WHEN state = 1 THEN count END), 0),
       coalesce(sum(CASE WHEN state = 2 AND reason NOT IN (2, 4, 5) THEN count END), 0)
FROM tally WHERE crawl = ?;

-- name: wire_add
UPDATE crawl SET wire_bytes = wire_bytes + ? WHERE id = ?;

-- name: any_host
SELECT 1 FROM host WHERE crawl = ? LIMIT 1;

-- name: prints
SELECT url.host, url.print FROM host JOIN url ON url.host = host.id WHERE host.crawl = ?;

-- name: fingerprint_key
SELECT value FROM secret WHERE name = 'fingerprints';

-- name: url_standing
SELECT state, reason, depth FROM url WHERE id = ?;

-- name: url_readmit
UPDATE url SET state = 0, reason = NULL, detail = NULL, priority = depth WHERE id = ? AND state = 4;
