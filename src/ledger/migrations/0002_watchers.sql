-- Several daemons may keep one ledger. Each remembers for itself: pieces of two memories, read at different moments,
-- would make one that counts a loss twice. The daemon of a file has no name.
CREATE TABLE query_memory_of_watcher (
    watcher       TEXT NOT NULL,
    query         TEXT NOT NULL,
    kafka_cluster TEXT NOT NULL,
    memory        TEXT NOT NULL,
    remembered_at TEXT NOT NULL,
    PRIMARY KEY (kafka_cluster, query, watcher)
);
INSERT INTO query_memory_of_watcher (watcher, query, kafka_cluster, memory, remembered_at)
    SELECT '', query, kafka_cluster, memory, remembered_at FROM query_memory;
DROP TABLE query_memory;
ALTER TABLE query_memory_of_watcher RENAME TO query_memory;

CREATE TABLE partition_memory_of_watcher (
    watcher       TEXT NOT NULL,
    query         TEXT NOT NULL,
    kafka_cluster TEXT NOT NULL,
    topic         TEXT NOT NULL,
    partition     INTEGER NOT NULL,
    memory        TEXT NOT NULL,
    bounds        TEXT,
    remembered_at TEXT NOT NULL,
    PRIMARY KEY (kafka_cluster, query, watcher, topic, partition)
);
INSERT INTO partition_memory_of_watcher
    (watcher, query, kafka_cluster, topic, partition, memory, bounds, remembered_at)
    SELECT '', query, kafka_cluster, topic, partition, memory, bounds, remembered_at FROM partition_memory;
DROP TABLE partition_memory;
ALTER TABLE partition_memory_of_watcher RENAME TO partition_memory;

-- When each daemon was last at work. A file has one daemon only, and no row here.
CREATE TABLE watchers (
    name    TEXT PRIMARY KEY,
    seen_at TEXT NOT NULL
);

-- What happened, once for each daemon that saw it.
ALTER TABLE events ADD COLUMN watcher TEXT NOT NULL DEFAULT '';

-- Which daemon has heard what people said.
CREATE TABLE hearings (
    acknowledgement BIGINT NOT NULL,
    watcher         TEXT NOT NULL,
    heard_at        TEXT NOT NULL,
    PRIMARY KEY (acknowledgement, watcher)
);
INSERT INTO hearings (acknowledgement, watcher, heard_at)
    SELECT id, '', heard_at FROM acknowledgements WHERE heard_at IS NOT NULL;
DROP INDEX acknowledgements_unheard;
ALTER TABLE acknowledgements DROP COLUMN heard_at;
CREATE INDEX acknowledgements_by_cluster ON acknowledgements (kafka_cluster);
