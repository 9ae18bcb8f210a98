//! Brinkwatch watches Spark Structured Streaming checkpoints against Kafka retention.
//!
//! Spark keeps its Kafka position in a checkpoint, not in a consumer group, and Kafka deletes old records whether or
//! not Spark has read them. Brinkwatch watches the distance between the two and speaks before they meet. It only
//! reads: it never writes a checkpoint, never creates a topic, never joins a consumer group, never fetches a record.
//!
//! # The path of the data
//!
//! ```text
//! checkpoint files ──readers──► CheckpointReading ─┐
//!                                                  ├─► judgement ──► verdicts, events ──► board ──► /metrics, pages, API
//! Kafka brokers ────readers──► ClusterReading ─────┘        ▲                 │
//!                                                           └── ledger ◄──────┘
//! configuration ──► alert rules, /rules; places to look through ──► checkpoints to read
//! ```
//!
//! # Rooms, in reading order
//!
//! | room | what it is | knows |
//! |---|---|---|
//! | [`measures`] | offset, batch, moment, reason: the words all others share | nobody |
//! | [`shard`] | which queries of a fleet are this process's | nobody |
//! | [`checkpoint`] | what Spark wrote, and where a restart would resume | measures |
//! | [`retention`] | what Kafka will delete, and when | measures |
//! | [`judgement`] | position × bounds × memory → verdicts and events | checkpoint, retention |
//! | [`recovery`] | where to start anew, whether the sink is whole, which ways on fit | checkpoint, retention, judgement |
//! | [`readers`] | IO, and only reading: stores and brokers | checkpoint, retention |
//! | [`ledger`] | what outlives the process: memory of the judgement, records of gaps | judgement's values |
//! | [`rounds`] | when: one loop per cluster, one per discovery; the board | readers, judgement, ledger, metrics |
//! | [`metrics`] | the catalogue of every metric; a snapshot's text | judgement's values, the shard |
//! | [`alerts`] | thresholds and catalogue → rule groups → YAML | metrics |
//! | [`web`] | scrape, health, rules, API, pages | the board, ledger, recovery, metrics, alerts |
//! | [`config`] | what the operator asked for | judgement's and metrics' settings |
//! | [`replay`] | what was observed, written down, and judged again | rounds, ledger, alerts |
//! | [`commands`] | one file per subcommand | all |
//! | [`daemon`] | the composition: start and stop | all |
//! | [`process`] | clock, logging, signals, exit codes | measures |
//!
//! `measures`, `shard`, `checkpoint`, `retention`, `judgement`, `recovery`, `metrics` and `alerts` are pure: no IO, no log, no clock. Time is
//! an argument. `tests/architecture.rs` holds these walls.
//!
//! # What must never happen
//!
//! 1. Nothing outside `readers` talks to a store or a broker; nothing inside writes to one.
//! 2. `unsafe` exists in one module only: the wrapper over librdkafka calls that rust-rdkafka lacks.
//! 3. Unknown is never zero and never healthy. A number that was not read is absent, and a verdict says `unknown` with a
//!    reason.
//! 4. Every number keeps its kind: proved, estimated (and named so), or absent.
//! 5. A metric's name is written once, in the catalogue.
//! 6. `/metrics` answers 200 from memory, whatever Kafka or a store does. A scrape takes no lock that a round waits for.
//! 7. Two renders of one snapshot are byte-equal.
//! 8. One query's trouble never delays or hides another's.
//! 9. No secret stands in a log line, an error, a page, an answer of the API or a `Debug` print.
//!
//! # Words
//!
//! *Query*: a Spark streaming query, known by its checkpoint. *Batch*: planned once `offsets/N` exists, committed once
//! `commits/N` exists, open in between. *Committed offset*: the next offset the query needs if it restarts now.
//! *Planned offset*: exclusive end of the open batch. *Earliest*, *latest*: Kafka's log start and end. *Headroom*:
//! committed − earliest. *Lag*: unread and still readable. *Lost*: unread and gone. *Deadline*: the moment before which
//! retention cannot delete the next unread record, proved. *Remaining ratio*: share of retention ahead of that record.
//! *Round*: one pass over one cluster. *Look*: one pass of a discovery through its place. *Board*: where the newest finished round of each cluster hangs. *Poll* is ours,
//! *scrape* is Prometheus'.
//!
//! # From a committed batch to a page
//!
//! Spark finishes batch 7 and writes `commits/7`. The cluster's loop ([`rounds`]) starts its next round and lists
//! `commits/`, then `offsets/`, of each checkpoint ([`readers`]); [`checkpoint`] decides which files matter and reads
//! the committed offsets out of them. Then the brokers are asked for identity, earliest and latest. A committed offset
//! below earliest is looked at again before anyone says *lost*: the query may have moved on between the two reads. For
//! partitions with something unread, look-ups by time prove until when retention cannot touch it ([`retention`]).
//! [`judgement`] turns all this, and what it remembers, into verdicts; what the round changed is written into the
//! [`ledger`], and then the round is hung on the board; its text is rendered and compressed once. Prometheus scrapes a
//! copy, evaluates the rules that [`alerts`] made, and Alertmanager wakes a person, who opens the query's page
//! ([`web`]).

// In reading order.
pub mod measures;
pub mod shard;
pub mod checkpoint;
pub mod retention;
pub mod judgement;
pub mod recovery;
pub mod readers;
pub mod ledger;
pub mod rounds;
pub mod metrics;
pub mod alerts;
pub mod web;
pub mod config;
pub mod replay;
pub mod commands;
pub mod daemon;
pub mod process;
