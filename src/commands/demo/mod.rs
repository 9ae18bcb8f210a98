//! `brinkwatch demo`: the daemon on an embedded Kafka stand-in and four simulated Spark queries.
//!
//! What is shown is computed by the same rooms as in `run`; only Kafka and Spark are played. So this is the one place
//! outside the readers that names a Kafka client, and the one place in the project that writes a topic or a
//! checkpoint: its own topics in its own process, its own checkpoints in a temporary folder.

mod configuration;
mod show;
mod simulated;
mod spark;
mod stand_in;
mod story;
#[cfg(test)]
mod tests;
