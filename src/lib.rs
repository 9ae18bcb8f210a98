//! Brinkwatch watches Spark Structured Streaming checkpoints against Kafka retention.
//!
//! Spark keeps its Kafka position in a checkpoint, not in a consumer group, and Kafka deletes old records whether or
//! not Spark has read them. Brinkwatch watches the distance between the two and speaks before they meet. It only
//! reads: it never writes a checkpoint, never creates a topic, never joins a consumer group, never fetches a record.

// In reading order.
pub mod measures;
pub mod checkpoint;
pub mod retention;
pub mod judgement;
pub mod readers;
pub mod rounds;
pub mod metrics;
pub mod alerts;
pub mod web;
pub mod config;
pub mod commands;
pub mod daemon;
pub mod process;
