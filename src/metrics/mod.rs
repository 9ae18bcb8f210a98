//! PURE. The catalogue of every metric, and a snapshot's text.
//!
//! [`snapshot`] is what hangs on the board, [`exposition`] writes it down, [`catalogue`] says what each name means.
//! Nothing is kept between two rounds, so a topic that vanished is gone from the next text.

pub mod catalogue;
pub mod exposition;
#[cfg(test)]
pub(crate) mod fixture;
pub mod snapshot;
