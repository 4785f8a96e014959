-- What the service remembers beside the crawls themselves: who may call, what was asked for, what
-- happened. Times are seconds since the epoch.

-- A key is known by its id; only the SHA-256 of its secret is kept.
CREATE TABLE api_key (
    id         TEXT PRIMARY KEY,
    digest     BLOB NOT NULL,
    name       TEXT NOT NULL,
    scopes     TEXT NOT NULL,            -- JSON list
    quotas     TEXT NOT NULL,            -- JSON
    created_at REAL NOT NULL,
    revoked_at REAL
) WITHOUT ROWID;

-- What a caller asked for. Several jobs that want the same share one crawl.
CREATE TABLE job (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of arrival
    id         TEXT NOT NULL UNIQUE,
    owner      TEXT NOT NULL,            -- the id of a key
    kind       TEXT NOT NULL,            -- crawl, screenshots, fetch
    crawl      TEXT NOT NULL,            -- the name of the crawl that does it
    state      TEXT NOT NULL,            -- queued, running, paused, done, failed, cancelled
    wish       TEXT,                     -- pause, cancel or reload, for the worker that has it
    name       TEXT NOT NULL,
    request    TEXT NOT NULL,            -- JSON, as it was asked for, without secrets
    seeds      TEXT NOT NULL,            -- JSON
    settings   TEXT NOT NULL,            -- JSON, by part
    secrets    TEXT,                     -- JSON; gone when the job has ended
    dropped    TEXT NOT NULL DEFAULT '[]', -- JSON: which of the secrets went when it ended
    again      TEXT,                     -- JSON: URLs to be tried again before it goes on
    hook       TEXT,                     -- JSON: where to tell of it
    likeness   BLOB,                     -- of all that changes the result, where it may be shared
    created_at REAL NOT NULL,
    started_at REAL,
    ended_at   REAL,
    due        REAL NOT NULL DEFAULT 0,  -- queued, and not before
    worker     INTEGER,                  -- running, and by whom
    attempts   INTEGER NOT NULL DEFAULT 0,
    reason     TEXT,
    detail     TEXT,
    progress   TEXT,                     -- JSON: the last sums that were told
    bytes      INTEGER NOT NULL DEFAULT 0 -- that its crawl takes on disk
);
CREATE INDEX job_open ON job (state, owner, seq) WHERE state IN ('queued', 'running');
CREATE INDEX job_fetch ON job (seq) WHERE state = 'queued' AND kind = 'fetch';
CREATE UNIQUE INDEX job_in_work ON job (crawl) WHERE state = 'running';
CREATE INDEX job_owner ON job (owner, seq);
CREATE INDEX job_crawl ON job (crawl);
CREATE INDEX job_likeness ON job (likeness) WHERE likeness IS NOT NULL;
CREATE INDEX job_ended ON job (ended_at) WHERE ended_at IS NOT NULL;

-- A process that works on jobs. Who stops renewing is dead, and its jobs are for others.
CREATE TABLE worker (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    until      REAL NOT NULL,
    machine    TEXT NOT NULL,
    process    TEXT NOT NULL,
    started_at REAL NOT NULL,
    statistics TEXT NOT NULL DEFAULT '{}'
);

-- What happened in a crawl, in order: what the event stream replays.
CREATE TABLE event (
    seq   INTEGER PRIMARY KEY AUTOINCREMENT,
    crawl TEXT NOT NULL,
    at    REAL NOT NULL,
    kind  TEXT NOT NULL,
    data  TEXT NOT NULL                  -- JSON
);
CREATE INDEX event_crawl ON event (crawl, seq);

-- A request that may be sent again gets the same answer.
CREATE TABLE idempotency (
    owner  TEXT NOT NULL,
    key    TEXT NOT NULL,
    digest BLOB NOT NULL,                -- of the request
    job    TEXT NOT NULL,
    at     REAL NOT NULL,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;

-- What a caller is told, until it listened or was asked too often.
CREATE TABLE message (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    job      TEXT NOT NULL,
    kind     TEXT NOT NULL,
    url      TEXT NOT NULL,
    secret   TEXT NOT NULL,
    body     TEXT NOT NULL,              -- JSON
    at       REAL NOT NULL,
    due      REAL,                       -- NULL where it is over
    attempts INTEGER NOT NULL DEFAULT 0,
    outcome  TEXT
);
CREATE INDEX message_due ON message (due) WHERE due IS NOT NULL;
CREATE INDEX message_job ON message (job, id);

-- Pages that were fetched for a caller, by day.
CREATE TABLE used (
    owner TEXT NOT NULL,
    day   TEXT NOT NULL,
    pages INTEGER NOT NULL,
    PRIMARY KEY (owner, day)
) WITHOUT ROWID;

-- Counters of what workers did, kept beyond the life of each.
CREATE TABLE counter (
    name  TEXT NOT NULL,
    label TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (name, label)
) WITHOUT ROWID;
