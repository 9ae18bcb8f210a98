//! IO, and only reading: checkpoints out of stores, bounds and identity out of Kafka.
