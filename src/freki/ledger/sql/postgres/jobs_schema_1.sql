-- What differs from the service's tables in a file.

CREATE TABLE books (
    version INTEGER NOT NULL
);

-- Small tables that change all the time.
ALTER TABLE worker SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500);
ALTER TABLE counter SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500);
ALTER TABLE job SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 500);
