//! WHEN. One loop per cluster, and the board where its newest finished round hangs.

pub mod board;
