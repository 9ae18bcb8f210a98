//! IO, and only reading: checkpoints out of stores, bounds and identity out of Kafka.

mod brokers;
pub mod kafka;

pub use brokers::{AgeRequest, BrokerReader, WantedTopic};
