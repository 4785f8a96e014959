-- What becomes of a store that was copied.

-- name: secrets_forget
DELETE FROM secret;

-- name: nothing_leased
UPDATE url SET state = 0, session = NULL, attempts = attempts - 1 WHERE state = 1;

-- name: nobody_holds
UPDATE host SET session = NULL WHERE session IS NOT NULL;

-- name: nothing_runs
UPDATE crawl SET status = 'interrupted' WHERE status = 'running';
