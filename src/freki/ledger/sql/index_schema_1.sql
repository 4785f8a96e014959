-- The index of what pages say. It can be made again at any time, so it is never migrated.

-- Without the texts themselves: those are in the store. The row is the number of the page.
CREATE VIRTUAL TABLE text USING fts5 (
    words, content = '', tokenize = 'unicode61 remove_diacritics 2'
);

-- How far each crawl of the store was read.
CREATE TABLE progress (
    crawl INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL,  -- the page that was read last, and when it was fetched
    at    REAL NOT NULL,
    pages INTEGER NOT NULL
);

-- Which store it belongs to.
CREATE TABLE store (
    mark TEXT NOT NULL
);
