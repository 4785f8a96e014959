-- Twins of the ledger's statements, and at the end those that only PostgreSQL has.
--
-- No two transactions of workers may wait for each other in a circle: rows are locked in the order
-- session, URLs, hosts, tally, and of a kind in the order of their ids. Claims lock hosts first, and
-- skip URLs that somebody holds. What meets all the same is tried again.

-- A crash of the server may take the last commits of pages, which are fetched again then. Who holds
-- which host, and until when, must outlive it, or two would be at one host: that waits for the disk.
-- name: session_open
INSERT INTO session (crawl, until, machine, process)
SELECT ?, ?, ?, ? FROM (SELECT set_config('synchronous_commit', 'on', true)) AS durably
RETURNING id;

-- Dates of crawls come from the machines of workers, and are no reason to turn the server's back.
-- name: session_renew
UPDATE session SET until = ? FROM (SELECT set_config('synchronous_commit', 'on', true)) AS durably
WHERE id = ?;

-- name: last_date
SELECT coalesce((SELECT max(until) - ?2 FROM session WHERE crawl = ?1), 0);

-- name: hosts_back
UPDATE host SET next_at = greatest(0, next_at - ?1), robots_at = robots_at - ?1 WHERE crawl = ?2;

-- name: leased_by_host
SELECT host, count(*) FROM url WHERE state = 1 AND session = ? GROUP BY host ORDER BY host;

-- name: urls_release
UPDATE url SET state = 0, session = NULL, attempts = attempts - (?::boolean)::int
WHERE state = 1 AND session = ?;

-- name: hosts_release
UPDATE host SET session = NULL, next_at = greatest(next_at, ?1 + greatest(coalesce(delay, 0), ?2))
WHERE session = ?3;

-- name: leased_of_host
SELECT count(*) FROM url WHERE state = 1 AND host = ?;

-- name: refuse_rest
UPDATE url SET state = 4, reason = 53, due = NULL WHERE state = 0 AND host = ?;

-- name: host_rest
UPDATE host SET next_at = greatest(next_at, ?), delay = ?, failures = ? WHERE id = ?;

-- name: host_leave
UPDATE host SET session = NULL, next_at = greatest(next_at, ?) WHERE id = ?;

-- name: url_standing
SELECT state, reason, depth FROM url WHERE id = ? FOR UPDATE;

-- name: url_nearer
UPDATE url SET depth = ?, via = CASE WHEN via IN (7, 8) THEN via ELSE ? END,
    hops = least(hops, ?), parent = ? WHERE id = ?;

-- name: item_add
INSERT INTO item (crawl, url, at, fate, kind, data, detail, key)
SELECT ?1, ?2, ?3, CASE WHEN twin IS NULL THEN ?4 ELSE 1 END, ?5, ?6,
    CASE WHEN twin IS NULL THEN ?7 ELSE 'twin: item ' || twin || ' has the same key ' || ?8 END,
    CASE WHEN twin IS NULL THEN ?8 END
FROM (SELECT (SELECT id FROM item WHERE crawl = ?1 AND key = ?8) AS twin) AS known;

-- name: tally_add
INSERT INTO tally (crawl, state, reason, part, count) VALUES (?1, ?2, ?3, 0, ?4)
ON CONFLICT (crawl, state, reason, part) DO UPDATE SET count = tally.count + ?4;

-- name: tally
SELECT state, reason, sum(count)::bigint FROM tally WHERE crawl = ? GROUP BY state, reason;

-- name: counts
SELECT coalesce(sum(count) FILTER (WHERE state = 0), 0)::bigint,
       coalesce(sum(count) FILTER (WHERE state = 1), 0)::bigint,
       coalesce(sum(count) FILTER (WHERE state = 2 AND reason NOT IN (2, 4, 5)), 0)::bigint
FROM tally WHERE crawl = ?;

-- Only PostgreSQL has these.

-- Counts the transaction, and keeps others from reaping the session until it ends. Of a worker that
-- is too old for the tables as they are now nothing is taken any more.
-- name: hold
UPDATE session SET serial = serial + 1
WHERE id = ?1 AND (SELECT oldest FROM store) <= ?2 RETURNING serial;

-- name: oldest
SELECT version, oldest FROM store;

-- name: durably
SELECT set_config('synchronous_commit', 'on', true);

-- Who was stopped while it said something is not idle, so no timeout of the server's ends it; nobody
-- else is silent for so long in the middle of a statement. What it began is undone.
-- name: end_the_silent
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
  AND application_name = current_setting('application_name')
  AND state = 'active' AND wait_event = 'ClientRead' AND query NOT ILIKE 'copy %'
  AND query_start < clock_timestamp() - interval '5 seconds';

-- name: serial
SELECT serial FROM session WHERE id = ?;

-- name: session_lock
SELECT set_config('synchronous_commit', 'on', true) FROM session
WHERE id = ?1 AND (SELECT oldest FROM store) <= ?2 FOR UPDATE;

-- name: session_reapable
SELECT 1 FROM session WHERE id = ?1 AND until = ?2 FOR UPDATE SKIP LOCKED;

-- What a session counted becomes everybody's.
-- name: tally_fold
INSERT INTO tally (crawl, state, reason, part, count)
SELECT crawl, state, reason, 0, count FROM tally WHERE crawl = ?1 AND part = ?2 AND count <> 0
ORDER BY state, reason
ON CONFLICT (crawl, state, reason, part) DO UPDATE SET count = tally.count + excluded.count;

-- name: tally_forget
DELETE FROM tally WHERE crawl = ? AND part = ?;

-- name: tally_change
INSERT INTO tally (crawl, state, reason, part, count)
SELECT ?1, state, reason, ?2, change
FROM unnest(?3::bigint[], ?4::bigint[], ?5::bigint[]) AS changed (state, reason, change)
ORDER BY state, reason
ON CONFLICT (crawl, state, reason, part) DO UPDATE SET count = tally.count + excluded.count;

-- name: in_order
SELECT pg_advisory_xact_lock(hashtextextended('freki.arrivals', ?::bigint));

-- name: wire_note
UPDATE session SET wire_bytes = wire_bytes + ? WHERE id = ?;

-- name: wire_taken
UPDATE session SET wire_bytes = 0 WHERE id = ? AND wire_bytes > 0;

-- name: wire_keep
UPDATE crawl SET wire_bytes = crawl.wire_bytes + session.wire_bytes
FROM session WHERE session.id = ? AND crawl.id = session.crawl AND session.wire_bytes > 0;

-- Claims of a crawl with a limit come one after the other, so that the limit is exact.
-- name: limit_lock
SELECT 1 FROM crawl WHERE id = ? FOR NO KEY UPDATE;

-- name: rest_all
UPDATE host SET next_at = greatest(host.next_at, rest.next_at), delay = rest.delay,
    failures = rest.failures
FROM (SELECT * FROM unnest(?1::bigint[], ?2::float8[], ?3::float8[], ?4::int[])
    AS given (id, next_at, delay, failures) ORDER BY id) AS rest
WHERE host.id = rest.id;

-- name: hosts_of
SELECT id, origin, next_at, delay, failures, pages, robots, robots_at, robots_status, robots_tries
FROM host WHERE id = ANY(?1::bigint[]) AND session IS NOT DISTINCT FROM ?2::bigint
ORDER BY array_position(?1::bigint[], id) FOR NO KEY UPDATE;

-- What was taken lately is dead weight at the front of the index, until no transaction that began
-- before could see it and the vacuum comes: who took all hosts up to a date begins behind it.
-- name: hosts_free
SELECT id, origin, next_at, delay, failures, pages, robots, robots_at, robots_status, robots_tries
FROM host WHERE crawl = ?1 AND ready AND next_at <= ?2 AND next_at >= ?5::float8 AND id <> ALL(?4::bigint[])
ORDER BY next_at, id LIMIT ?3 FOR NO KEY UPDATE SKIP LOCKED;

-- name: due_next
SELECT next_at FROM host WHERE crawl = ?1 AND ready AND id <> ALL(?2::bigint[])
ORDER BY next_at, id LIMIT 1;

-- By an array, and not by a join: that would be a look at every row where statistics are wrong.
-- name: urls_take
WITH due AS MATERIALIZED (
    SELECT host, place, due.*
    FROM unnest(?1::bigint[], ?2::bigint[]) WITH ORDINALITY AS wanted (host, quota, place),
    LATERAL (
        SELECT id, path, depth, attempts, hops, via, priority FROM url
        WHERE url.host = wanted.host AND state = 0 AND (url.due IS NULL OR url.due <= ?3)
        ORDER BY priority, id LIMIT wanted.quota FOR NO KEY UPDATE SKIP LOCKED
    ) AS due
), leased AS (
    UPDATE url SET state = 1, session = ?4, due = NULL, attempts = attempts + 1
    WHERE id = ANY(ARRAY(SELECT id FROM due))
)
SELECT host, id, path, depth, attempts, hops, via, request.data
FROM due LEFT JOIN request ON request.url = due.id ORDER BY place, priority, id;

-- name: urls_now
UPDATE url SET due = NULL WHERE id IN (SELECT id FROM url WHERE state = 0 AND due > ?2
    AND host IN (SELECT id FROM host WHERE crawl = ?1 AND ready AND next_at > ?2)
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED);

-- name: hosts_now
UPDATE host SET next_at = ?1 WHERE id IN (SELECT id FROM host WHERE crawl = ?2 AND ready
    AND next_at > ?3 ORDER BY id FOR NO KEY UPDATE SKIP LOCKED);

-- name: anybody
SELECT 1 FROM session WHERE crawl = ?1 AND id <> ?2
UNION ALL SELECT 1 FROM url WHERE state = 1 AND session = ?2 LIMIT 1;

-- name: hosts_take
UPDATE host SET session = ?1, next_at = coalesce(?2, next_at), waiting = waiting - taken.count
FROM unnest(?3::bigint[], ?4::bigint[]) AS taken (id, count) WHERE host.id = taken.id;

-- name: hosts_leave
UPDATE host SET session = NULL, next_at = greatest(next_at, coalesce(left_at.due,
    (SELECT min(due) FROM url WHERE state = 0 AND url.host = host.id)))
FROM unnest(?1::bigint[], ?2::float8[]) AS left_at (id, due) WHERE host.id = left_at.id;

-- name: hosts_gain
UPDATE host SET waiting = waiting + gained.count
FROM (SELECT * FROM unnest(?1::bigint[], ?2::bigint[]) AS given (id, count) ORDER BY id) AS gained
WHERE host.id = gained.id;

-- name: hosts_lock
SELECT 1 FROM host WHERE id = ANY(?::bigint[]) ORDER BY id FOR NO KEY UPDATE;

-- name: hosts_add
INSERT INTO host (id, crawl, origin)
SELECT id, ?1, origin FROM (
    SELECT nextval('host_id_seq') AS id, origin FROM unnest(?2::text[]) AS given (origin)
) AS numbered ORDER BY origin ON CONFLICT (crawl, origin) DO NOTHING;

-- name: hosts_by_origin
SELECT origin, id FROM host WHERE crawl = ? AND origin = ANY(?::text[]);

-- name: urls_by_print
SELECT url.host, url.print, url.id, url.path, url.state, url.reason, url.depth
FROM unnest(?1::bigint[], ?2::bigint[]) AS wanted (host, print)
JOIN url ON url.host = wanted.host AND url.print = wanted.print;

-- name: url_lock
SELECT id, path, state, reason, depth FROM url WHERE host = ? AND print = ? FOR NO KEY UPDATE;

-- Ids follow the order of discovery; rows are inserted by host and print, as every worker does.
-- name: urls_add
WITH numbered AS MATERIALIZED (
    SELECT nextval('url_id_seq') AS id, given.* FROM unnest(
        ?1::bigint[], ?2::bigint[], ?3::text[], ?4::smallint[], ?5::smallint[], ?6::int[],
        ?7::int[], ?8::smallint[], ?9::smallint[], ?10::bigint[], ?11::bigint[], ?12::text[]
    ) AS given (host, print, path, state, reason, depth, priority, via, hops, parent, found_at,
        detail)
)
INSERT INTO url (id, host, print, path, state, reason, depth, priority, via, hops, parent, found_at,
    detail)
SELECT * FROM numbered ORDER BY host, print
ON CONFLICT (host, print) DO NOTHING RETURNING host, print;

-- name: urls_end
UPDATE url SET state = ended.state, reason = ended.reason, detail = ended.detail, due = ended.due,
    session = NULL
FROM unnest(?1::smallint[], ?2::smallint[], ?3::text[], ?4::float8[], ?5::bigint[])
    AS ended (state, reason, detail, due, id)
WHERE url.id = ended.id AND url.state = 1 AND url.session = ?6;

