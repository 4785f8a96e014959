-- The statements of the service, by name.

-- There is one writer here, and everything happens in order.
-- name: orders_in_order
SELECT 'orders';

-- name: events_in_order
SELECT 'events';

-- name: key_add
INSERT INTO api_key (id, digest, name, scopes, quotas, created_at) VALUES (?, ?, ?, ?, ?, ?);

-- name: key_find
SELECT id, digest, name, scopes, quotas, created_at, revoked_at FROM api_key WHERE id = ?;

-- name: keys
SELECT id, digest, name, scopes, quotas, created_at, revoked_at FROM api_key ORDER BY created_at, id;

-- name: key_revoke
UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL;

-- name: keys_live
SELECT count(*) FROM api_key WHERE revoked_at IS NULL;

-- name: job_add
INSERT INTO job (id, owner, kind, crawl, state, name, request, seeds, settings, secrets, hook, likeness,
    created_at, started_at, ended_at, progress, bytes)
VALUES (:id, :owner, :kind, :crawl, :state, :name, :request, :seeds, :settings, :secrets, :hook,
    :likeness, :created_at, :started_at, :ended_at, :progress, :bytes);

-- name: job_find
SELECT * FROM job WHERE id = ?;

-- The same as job_find here, in other words: a twin is found by the words of its statement.
-- name: job_hold
SELECT job.* FROM job WHERE id = ?;

-- name: jobs
SELECT * FROM job
WHERE owner <> '' AND (:owner IS NULL OR owner = :owner) AND (:kind IS NULL OR kind = :kind)
  AND (:state IS NULL OR state = :state) AND (:before IS NULL OR seq < :before)
ORDER BY seq DESC LIMIT :limit;

-- name: open_of
SELECT state, count(*) FROM job WHERE state IN ('queued', 'running') AND owner = ? GROUP BY state;

-- name: open_in_all
SELECT state, count(*) FROM job WHERE state IN ('queued', 'running') GROUP BY state;

-- name: used_on
SELECT pages FROM used WHERE owner = ? AND day = ?;

-- name: use
INSERT INTO used (owner, day, pages) VALUES (?1, ?2, ?3)
ON CONFLICT (owner, day) DO UPDATE SET pages = used.pages + ?3;

-- What was asked for in the same words, and is under way or fresh enough.
-- name: job_alike
SELECT * FROM job
WHERE likeness = ? AND (state IN ('queued', 'running') OR state = 'done' AND ended_at >= ?)
ORDER BY ended_at IS NULL, ended_at DESC, seq LIMIT 1;

-- name: idempotency_find
SELECT digest, job FROM idempotency WHERE owner = ? AND key = ?;

-- name: idempotency_add
INSERT INTO idempotency (owner, key, digest, job, at) VALUES (?, ?, ?, ?, ?);

-- name: idempotency_forget
DELETE FROM idempotency WHERE at < ?;

-- name: job_wish
UPDATE job SET wish = ? WHERE id = ? AND state = 'running';

-- name: job_call_off
UPDATE job SET wish = 'cancel', again = NULL WHERE id = ? AND state = 'running';

-- One in work is begun anew, unless it shall rest; one that rests goes on resting.
-- name: job_again
UPDATE job SET again = :again, dropped = :dropped, hook = coalesce(:hook, hook),
    secrets = coalesce(:secrets, secrets),
    wish = CASE WHEN state = 'running' AND coalesce(wish, '') <> 'pause' THEN 'reload' ELSE wish END
WHERE id = :id;

-- name: job_reopen
UPDATE job SET state = 'queued', wish = NULL, due = ?, attempts = 0, ended_at = NULL, reason = NULL,
    detail = NULL
WHERE id = ?;

-- name: job_retried
UPDATE job SET again = ?, attempts = 0 WHERE id = ?;

-- name: job_state
UPDATE job SET state = ?, wish = NULL, due = 0 WHERE id = ?;

-- name: job_settings
UPDATE job SET settings = ?, request = ? WHERE id = ?;

-- name: job_drop
DELETE FROM job WHERE id = ?;

-- name: job_abandon
UPDATE job SET owner = ?, wish = 'cancel', name = '', request = '{}', secrets = NULL, hook = NULL,
    again = NULL, likeness = NULL
WHERE id = ?;

-- name: jobs_abandoned
SELECT * FROM job WHERE owner = ? AND ended_at IS NOT NULL;

-- name: crawl_users
SELECT count(*) FROM job WHERE crawl = ?;

-- name: events_drop
DELETE FROM event WHERE crawl = ?;

-- name: deliveries_drop
DELETE FROM message WHERE job = ?;

-- name: worker_add
INSERT INTO worker (until, machine, process, started_at) VALUES (?, ?, ?, ?);

-- name: worker_renew
UPDATE worker SET until = ?, statistics = ? WHERE id = ?;

-- name: worker_reapable
SELECT 1 FROM worker WHERE id = ? AND until = ?;

-- name: worker_drop
DELETE FROM worker WHERE id = ?;

-- name: workers
SELECT id, until, machine, process, started_at, statistics FROM worker ORDER BY id;

-- What the dead had in hand is for others; what they were asked to do to it is done.
-- name: jobs_back
UPDATE job SET state = CASE wish WHEN 'pause' THEN 'paused' ELSE 'queued' END,
    wish = CASE wish WHEN 'cancel' THEN 'cancel' END, worker = NULL
WHERE state = 'running' AND worker = ?;

-- Jobs that ended are many, and not looked at: the index is of those that are open.
-- name: work_waits
SELECT 1 FROM job AS turn INDEXED BY job_open
WHERE turn.state IN ('queued', 'running') AND turn.state = 'queued' AND turn.due <= :now AND instr(:kinds, turn.kind) > 0
  AND NOT EXISTS (SELECT 1 FROM job AS same
                  WHERE same.crawl = turn.crawl AND same.state = 'running')
ORDER BY turn.owner, turn.seq LIMIT 1;

-- Somebody sits and waits for a fetch: it goes first.
-- name: next_fetch
SELECT * FROM job INDEXED BY job_fetch
WHERE state = 'queued' AND kind = 'fetch' AND due <= ?
  AND NOT EXISTS (SELECT 1 FROM job AS same
                  WHERE same.crawl = job.crawl AND same.state = 'running')
ORDER BY seq LIMIT 1;

-- Whose turn is it? Of those who wait, whoever has least in work, then whoever came first. A job
-- waits while another one with the same crawl is in work.
-- name: next_job
WITH waiting AS (
    SELECT DISTINCT owner FROM job INDEXED BY job_open
    WHERE state IN ('queued', 'running') AND state = 'queued')
SELECT job.* FROM waiting JOIN job ON job.seq = (
    SELECT turn.seq FROM job AS turn INDEXED BY job_open
    WHERE turn.state IN ('queued', 'running') AND turn.state = 'queued' AND turn.owner = waiting.owner AND turn.due <= :now
      AND instr(:kinds, turn.kind) > 0
      AND NOT EXISTS (SELECT 1 FROM job AS same
                      WHERE same.crawl = turn.crawl AND same.state = 'running')
    ORDER BY turn.seq LIMIT 1)
ORDER BY (SELECT count(*) FROM job AS busy INDEXED BY job_open
          WHERE busy.state IN ('queued', 'running') AND busy.state = 'running' AND busy.owner = waiting.owner), job.seq
LIMIT 1;

-- name: job_take
UPDATE job SET state = 'running', worker = ?, attempts = attempts + 1,
    started_at = coalesce(started_at, ?) WHERE id = ?;

-- name: jobs_of_worker
SELECT id, wish FROM job WHERE state = 'running' AND worker = ?;

-- name: job_progress
UPDATE job SET progress = ?, bytes = ? WHERE crawl = ? AND state IN ('queued', 'running');

-- name: job_give_back
UPDATE job SET state = ?, wish = NULL, worker = NULL, due = ?, attempts = attempts - ?
WHERE id = ? AND worker = ?;

-- name: job_held
SELECT * FROM job WHERE id = ? AND worker = ? AND state = 'running';

-- name: jobs_waiting_for
SELECT * FROM job WHERE crawl = ? AND state = 'queued' ORDER BY seq;

-- name: job_end
UPDATE job SET state = :state, wish = NULL, worker = NULL, again = NULL, dropped = :dropped,
    secrets = NULL, hook = NULL,
    started_at = coalesce(started_at, :at), ended_at = :at, reason = :reason, detail = :detail,
    progress = coalesce(:progress, progress), bytes = coalesce(:bytes, bytes)
WHERE id = :id;

-- name: event_add
INSERT INTO event (crawl, at, kind, data) VALUES (?, ?, ?, ?);

-- name: events_of
SELECT seq, at, kind, data FROM event WHERE crawl = ? AND seq > ? ORDER BY seq LIMIT ?;

-- The event before the latest ones of a crawl.
-- name: event_before
SELECT coalesce(min(seq), 1) - 1
FROM (SELECT seq FROM event WHERE crawl = ? ORDER BY seq DESC LIMIT ?) AS latest;

-- name: event_last
SELECT coalesce(max(seq), 0) FROM event;

-- name: events_since
SELECT seq, crawl, at, kind, data FROM event WHERE seq > ? ORDER BY seq LIMIT ?;

-- A stream that nobody reads any more is cut at its old end.
-- name: events_trim
DELETE FROM event WHERE crawl = ?1 AND kind = 'progress' AND seq < (
    SELECT seq FROM event WHERE crawl = ?1 AND kind = 'progress'
    ORDER BY seq DESC LIMIT 1 OFFSET ?2);

-- name: delivery_add
INSERT INTO message (job, kind, url, secret, body, at, due) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: any_due
SELECT 1 FROM message WHERE due IS NOT NULL AND due <= ? LIMIT 1;

-- name: deliveries_due
SELECT id, job, kind, url, secret, body, at, attempts FROM message
WHERE due IS NOT NULL AND due <= ? ORDER BY due LIMIT ?;

-- name: delivery_lease
UPDATE message SET due = ?, attempts = attempts + 1 WHERE id = ? AND due IS NOT NULL;

-- name: delivery_again
UPDATE message SET due = ?, outcome = ? WHERE id = ?;

-- name: delivery_over
UPDATE message SET due = NULL, secret = '', outcome = ? WHERE id = ?;

-- name: deliveries_of
SELECT id, kind, at, due, attempts, outcome FROM message WHERE job = ? AND id > ? ORDER BY id LIMIT ?;

-- name: count_up
INSERT INTO counter (name, label, value) VALUES (?1, ?2, ?3)
ON CONFLICT (name, label) DO UPDATE SET value = counter.value + ?3;

-- name: counters
SELECT name, label, value FROM counter;

-- name: ended_before
SELECT * FROM job WHERE ended_at < ? ORDER BY ended_at LIMIT ?;

-- name: ended_first
SELECT * FROM job WHERE ended_at IS NOT NULL ORDER BY ended_at LIMIT ?;

-- name: bytes_in_all
SELECT coalesce(sum(bytes), 0) FROM (SELECT max(bytes) AS bytes FROM job GROUP BY crawl) AS largest;

-- name: events_many
SELECT crawl FROM event GROUP BY crawl HAVING count(*) > ?;

-- name: crawls_known
SELECT DISTINCT crawl FROM job;

-- name: oldest_queued
SELECT min(max(created_at, due)) FROM job WHERE state = 'queued';
