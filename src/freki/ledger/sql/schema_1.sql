-- The first version of the store. A table per noun of ARCHITECTURE.md.
-- Times are seconds since the epoch. Numbers of states, reasons and ways are those of messages.py.

-- A named crawl; asking for a finished one again makes a new run with rows of its own.
CREATE TABLE crawl (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    run        INTEGER NOT NULL,
    settings   TEXT NOT NULL,           -- JSON
    seeds      TEXT NOT NULL,           -- JSON
    status     TEXT NOT NULL,           -- running, finished, limited, interrupted
    started_at REAL NOT NULL,
    ended_at   REAL,
    seconds    REAL NOT NULL DEFAULT 0, -- spent crawling, over all sessions
    wire_bytes INTEGER NOT NULL DEFAULT 0,
    program    TEXT NOT NULL DEFAULT '', -- of a spider, how it was named; empty for none
    cookies    TEXT NOT NULL DEFAULT '', -- of a spider, as libcurl spells them, one a line
    UNIQUE (name, run)
);

-- How many URLs are in which state for which reason, kept in the transactions that change them.
CREATE TABLE tally (
    crawl  INTEGER NOT NULL,
    state  INTEGER NOT NULL,
    reason INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (crawl, state, reason)
) WITHOUT ROWID;

-- A worker's right to claim and commit. The id is the fencing token: it is never used twice.
CREATE TABLE session (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    crawl   INTEGER NOT NULL,
    until   REAL NOT NULL,
    machine TEXT NOT NULL,
    process TEXT NOT NULL
);

-- Scheme, host and port: the unit of politeness.
CREATE TABLE host (
    id       INTEGER PRIMARY KEY,
    crawl    INTEGER NOT NULL,
    origin   TEXT NOT NULL,
    next_at  REAL NOT NULL DEFAULT 0,
    delay    REAL,
    failures INTEGER NOT NULL DEFAULT 0,
    waiting  INTEGER NOT NULL DEFAULT 0,
    pages    INTEGER NOT NULL DEFAULT 0,
    session  INTEGER,                   -- who works on it, where a host belongs to one
    robots   BLOB,                      -- robots.txt, zstd, as it was when asked for
    robots_at     REAL,
    robots_status INTEGER,
    robots_tries  INTEGER,
    UNIQUE (crawl, origin)
);
CREATE INDEX host_due ON host (crawl, next_at) WHERE waiting > 0;
CREATE INDEX host_held ON host (session) WHERE session IS NOT NULL;

-- One row per discovered URL. NULL, 0 and 1 cost no byte here, so rows of ended URLs stay small.
CREATE TABLE url (
    id       INTEGER PRIMARY KEY,
    host     INTEGER NOT NULL,
    print    INTEGER NOT NULL,          -- 48-bit keyed fingerprint of the path, see discover.py
    path     TEXT NOT NULL,             -- as it goes into the request
    state    INTEGER NOT NULL,
    reason   INTEGER,
    depth    INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    via      INTEGER NOT NULL,
    hops     INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    parent   INTEGER,
    found_at INTEGER NOT NULL,
    due      REAL,                      -- waiting, and not before
    session  INTEGER,                   -- leased, and by whom
    detail   TEXT
);
CREATE UNIQUE INDEX url_print ON url (host, print);
CREATE INDEX url_open ON url (state, host, priority) WHERE state < 2;
CREATE INDEX url_start ON url (host) WHERE depth = 0;

-- One row per visit; a URL is visited once in a run. Numbers grow in the order of the commits and
-- come never again, so who exports knows by one how far it came, also while others go on.
CREATE TABLE page (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    url          INTEGER NOT NULL UNIQUE,
    at           REAL NOT NULL,
    status       INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    charset      TEXT,
    title        TEXT,
    description  TEXT,
    canonical    TEXT,
    language     TEXT,
    robots       INTEGER NOT NULL,      -- 1 noindex, 2 nofollow
    http         TEXT NOT NULL,
    address      TEXT NOT NULL,
    headers      TEXT NOT NULL,         -- JSON pairs
    timings      TEXT NOT NULL,         -- JSON: dns, connect, tls, first byte, total
    wire_bytes   INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    body         INTEGER NOT NULL,
    links        BLOB                   -- zstd of JSON: url, text, rel, via
);

-- One row per distinct body. `data` is zstd, and NULL where bodies are not kept.
CREATE TABLE body (
    id     INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,        -- SHA-256
    data   BLOB
);

-- What a request is beyond its address, where a program asked for it: MessagePack of
-- `messages.Request`. Plain links have no row. One that no other request may be taken for has a
-- mark of its own behind the path of its URL, after a #, which is no part of any address.
CREATE TABLE request (
    url  INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);

-- What was taken out of a page, in the order it was found; written with its page. Numbered like pages.
CREATE TABLE item (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    crawl  INTEGER NOT NULL,
    url    INTEGER NOT NULL,            -- the page it was found on
    at     REAL NOT NULL,
    fate   INTEGER NOT NULL,            -- kept, dropped or failed, see messages.py
    kind   TEXT NOT NULL,               -- the name of its type, empty for a plain dict
    data   TEXT NOT NULL,               -- JSON
    detail TEXT,                        -- why it was dropped, or the traceback
    key    TEXT                         -- what no two kept items share, where that was asked for
);
CREATE UNIQUE INDEX item_key ON item (crawl, key) WHERE key IS NOT NULL;
CREATE INDEX item_url ON item (url);

-- How far the items of a crawl were handed to somebody outside, by name.
CREATE TABLE delivery (
    crawl INTEGER NOT NULL,
    name  TEXT NOT NULL,
    item  INTEGER NOT NULL,             -- the last one that was taken
    PRIMARY KEY (crawl, name)
) WITHOUT ROWID;

-- Attempts that gave no usable answer.
CREATE TABLE attempt (
    url     INTEGER NOT NULL,
    at      REAL NOT NULL,
    reason  INTEGER NOT NULL,
    detail  TEXT NOT NULL,
    timings TEXT NOT NULL
);
CREATE INDEX attempt_url ON attempt (url);

-- What belongs to the store as a whole: the key of the fingerprints.
CREATE TABLE secret (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

-- One row per visit by a browser: of a URL of a crawl, or of an address that was asked for by itself.
-- One that failed has its reason, and no captures.
CREATE TABLE rendering (
    id        INTEGER PRIMARY KEY,
    crawl     INTEGER,                  -- NULL: of none
    url       INTEGER,                  -- the row of the URL in the crawl
    address   TEXT NOT NULL,            -- asked for
    final_url TEXT NOT NULL,
    at        REAL NOT NULL,
    status    INTEGER NOT NULL,
    reason    INTEGER NOT NULL,         -- 1 is ok; else that of `failed`
    detail    TEXT NOT NULL,
    title     TEXT NOT NULL,
    settled   INTEGER NOT NULL,
    phases    TEXT NOT NULL,            -- JSON: queue, navigate, settle, capture
    console   TEXT NOT NULL,            -- JSON
    failed    TEXT NOT NULL,            -- JSON: url, why
    requests  INTEGER NOT NULL,
    blocked   INTEGER NOT NULL
);
CREATE INDEX rendering_of_crawl ON rendering (crawl, id);
CREATE INDEX rendering_of_url ON rendering (url) WHERE url IS NOT NULL;

-- One row per capture: one for each viewport, and for each tile of a page that is very tall.
CREATE TABLE capture (
    id        INTEGER PRIMARY KEY,
    rendering INTEGER NOT NULL,
    viewport  TEXT NOT NULL,            -- JSON
    tile      INTEGER NOT NULL,
    tiles     INTEGER NOT NULL,
    top       INTEGER NOT NULL,
    truncated INTEGER NOT NULL,
    blank     INTEGER NOT NULL,
    phash     INTEGER,                  -- 64 bits, signed
    likeness  INTEGER,                  -- the first capture of those that look alike
    picture   INTEGER NOT NULL
);
CREATE INDEX capture_of_rendering ON capture (rendering);
CREATE INDEX capture_like ON capture (likeness) WHERE likeness IS NOT NULL;
CREATE INDEX capture_picture ON capture (picture);

-- The thumbnails of a capture, by their widths.
CREATE TABLE thumbnail (
    capture INTEGER NOT NULL,
    width   INTEGER NOT NULL,
    picture INTEGER NOT NULL,
    UNIQUE (capture, width)
);
CREATE INDEX thumbnail_picture ON thumbnail (picture);

-- One row per distinct picture. Images are compressed as they are.
CREATE TABLE picture (
    id     INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,        -- SHA-256
    format TEXT NOT NULL,
    width  INTEGER NOT NULL,
    height INTEGER NOT NULL,
    bytes  INTEGER NOT NULL,
    data   BLOB NOT NULL
);

-- Where captures that look alike are found: the hash of the first of each group, cut into six bands.
-- Hashes that differ in up to five bits have at least one band in common.
CREATE TABLE likeness (
    scope   INTEGER NOT NULL,           -- the crawl; 0 is none
    band    INTEGER NOT NULL,           -- its place above its bits
    capture INTEGER NOT NULL,
    phash   INTEGER NOT NULL,
    PRIMARY KEY (scope, band, capture)
) WITHOUT ROWID;
