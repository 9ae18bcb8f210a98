//! PURE. What Kafka will delete, and when: what a broker says of a topic, the policy in force, the deadline that
//! look-ups by time prove, the share of retention that is left, and the moment at which it will be used up.

mod abilities;
mod arrivals;
mod clocks;
mod deadline;
mod forecast;
mod policy;
mod ratio;
mod reading;
mod proofs;
mod search;
mod set_by;
mod shortage;
mod unproved;

pub use abilities::{Abilities, Ability};
pub use arrivals::{Arrival, Arrivals};
pub use clocks::{Clocks, Stamp};
pub use deadline::{Deadline, deadline, oldest_unread};
pub use forecast::{Sample, Threat, forecast, lifetime_by_size};
pub use policy::{Cleanup, Limit, Policy, Ruling};
pub use proofs::Proofs;
pub use ratio::{Standing, float, ratio, size_at_work};
pub use reading::{Age, ClusterReading, Limits, PartitionReading, Right, TopicId, TopicReading, TopicSight};
pub use search::Search;
pub use set_by::SetBy;
pub use shortage::{Demand, Shortage, enough_to_watch};
pub use unproved::Unproved;

#[cfg(test)]
mod tests;
