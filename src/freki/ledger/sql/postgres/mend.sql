-- Twins of what puts back and looks whether a store is sound.

-- name: tallied
SELECT crawl, state, reason, sum(count)::bigint FROM tally
GROUP BY crawl, state, reason HAVING sum(count) <> 0;

-- name: unfinished_crawls
UPDATE crawl SET status = 'interrupted', ended_at = NULL
WHERE status = 'finished' AND id IN (
    SELECT crawl FROM tally WHERE state < 2 GROUP BY crawl HAVING sum(count) > 0);
