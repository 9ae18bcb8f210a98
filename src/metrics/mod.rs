//! PURE. The catalogue of every metric, and a snapshot's text.

pub mod catalogue;
