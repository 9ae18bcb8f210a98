//! PURE. What Kafka will delete, and when: what a broker says of a topic, the policy in force, the deadline that
//! look-ups by time prove, the share of retention that is left.

mod reading;
mod proofs;
mod search;

pub use proofs::Proofs;
pub use reading::{Age, ClusterReading, Limits, PartitionReading, TopicId, TopicReading, TopicSight};
pub use search::Search;
