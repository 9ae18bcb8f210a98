//! WHEN. One loop per cluster, one per discovery, and the board where what they found hangs.

mod checkpoints;
mod closer;
mod discovery;
mod doubts;
mod findings;
mod known;
mod news;
mod publish;
mod remembering;
mod rights;
mod round;
mod schedule;
mod short_lived;
mod state;
mod targets;
pub mod board;

pub use checkpoints::{AT_ONCE, CheckpointPoll};
pub use discovery::{DiscoveryTarget, Taken, discover};
pub use publish::before_first_round;
pub use remembering::published_health;
pub use round::{Found, once};
pub use schedule::{reading_deadline, run};
pub use state::ClusterState;
pub use targets::{ClusterTarget, QueryTarget, SourceFilter};
