//! WHEN. One loop per cluster, and the board where its newest finished round hangs.

mod checkpoints;
mod findings;
mod publish;
mod remembering;
mod rights;
mod round;
mod schedule;
mod state;
mod targets;
pub mod board;

pub use checkpoints::{AT_ONCE, CheckpointPoll};
pub use publish::before_first_round;
pub use remembering::published_health;
pub use round::{Found, once};
pub use schedule::{reading_deadline, run};
pub use state::ClusterState;
pub use targets::{ClusterTarget, QueryTarget, SourceFilter};
