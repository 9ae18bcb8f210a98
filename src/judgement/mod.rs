//! PURE. Position, bounds and memory → verdicts and events.
