-- Twins of what people ask a store.

-- name: tally
SELECT state, reason, sum(count)::bigint FROM tally WHERE crawl = ?
GROUP BY state, reason HAVING sum(count) <> 0 ORDER BY state, reason;

-- name: traps
SELECT split_part(url.detail, ':', 1) AS trap, count(*)
FROM url JOIN host ON host.id = url.host
WHERE host.crawl = ? AND url.state = 4 AND url.reason = 54
GROUP BY trap ORDER BY count(*) DESC;
