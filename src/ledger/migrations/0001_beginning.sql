-- What the judgement remembers of a query as a whole, one row per query and cluster.
CREATE TABLE query_memory (
    query         TEXT NOT NULL,
    kafka_cluster TEXT NOT NULL,
    memory        TEXT NOT NULL,
    remembered_at TEXT NOT NULL,
    PRIMARY KEY (query, kafka_cluster)
);

-- What it remembers of each partition. The window of bounds is long, and written less often than the rest.
CREATE TABLE partition_memory (
    query         TEXT NOT NULL,
    kafka_cluster TEXT NOT NULL,
    topic         TEXT NOT NULL,
    partition     INTEGER NOT NULL,
    memory        TEXT NOT NULL,
    bounds        TEXT,
    remembered_at TEXT NOT NULL,
    PRIMARY KEY (query, kafka_cluster, topic, partition)
);

-- Offsets that Kafka deleted before the query had committed them. Numbers are never used twice.
CREATE TABLE streaming_gaps (
    id                            INTEGER PRIMARY KEY AUTOINCREMENT,
    stream_name                   TEXT NOT NULL,
    topic                         TEXT NOT NULL,
    partition                     INTEGER NOT NULL,
    missing_from_offset           BIGINT NOT NULL,
    missing_to_offset_exclusive   BIGINT NOT NULL,
    detected_at                   TEXT NOT NULL,
    recovery_path                 TEXT CHECK (recovery_path IN ('accept_gap', 'new_checkpoint', 'backfill')),
    recovery_status               TEXT NOT NULL DEFAULT 'open'
        CHECK (recovery_status IN ('open', 'accepted', 'replayed', 'backfilled', 'not_a_loss')),
    evidence                      TEXT NOT NULL,
    recorded_by                   TEXT NOT NULL,
    certainty                     TEXT NOT NULL CHECK (certainty IN ('certain', 'possible')),
    kafka_cluster                 TEXT NOT NULL,
    topic_id                      TEXT,
    estimated_first_missing_at    TEXT,
    estimated_last_missing_at     TEXT,
    CHECK (missing_from_offset >= 0 AND missing_from_offset < missing_to_offset_exclusive)
);
CREATE INDEX streaming_gaps_by_log ON streaming_gaps (stream_name, kafka_cluster, topic, partition);
CREATE INDEX streaming_gaps_by_status ON streaming_gaps (recovery_status);

-- What happened, each once.
CREATE TABLE events (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    query         TEXT NOT NULL,
    kafka_cluster TEXT NOT NULL,
    topic         TEXT,
    event         TEXT NOT NULL,
    happened_at   TEXT NOT NULL,
    detail        TEXT NOT NULL
);
CREATE INDEX events_by_query ON events (query, kafka_cluster);

-- What people said; the daemon hears of it at its next round.
CREATE TABLE acknowledgements (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    query           TEXT NOT NULL,
    kafka_cluster   TEXT NOT NULL,
    topic           TEXT,
    partition       INTEGER,
    evidence        TEXT NOT NULL,
    recorded_by     TEXT NOT NULL,
    acknowledged_at TEXT NOT NULL,
    heard_at        TEXT
);
CREATE INDEX acknowledgements_unheard ON acknowledgements (kafka_cluster, heard_at);
