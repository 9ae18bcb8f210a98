//! Checkpoints that say what they are told to say, for benches that measure everything else.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use brinkwatch::checkpoint::{CheckpointReading, Position, SourceKind, SourceReading};
use brinkwatch::measures::{BatchId, TopicName, Unread};
use brinkwatch::readers::{CheckpointReader, RequestCounts};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};

pub(crate) type Positions = BTreeMap<TopicName, BTreeMap<i32, Position>>;

/// A checkpoint that says what it was told to say.
#[derive(Debug, Default)]
pub(crate) struct MadeUp(pub(crate) Mutex<CheckpointReading>);

impl MadeUp {
    /// Of a query that has committed all that it planned, and stands at these positions.
    pub(crate) fn at(topics: Positions) -> Self {
        let source = SourceReading {
            index: 0,
            id: "0".to_owned(),
            kind: SourceKind::Kafka,
            committed_from: Some("offsets/7".to_owned()),
            planned_from: None,
            topics,
        };
        Self(Mutex::new(CheckpointReading {
            offset_log_version: Some(1),
            newest_planned: Some(BatchId(7)),
            newest_committed: Some(BatchId(7)),
            restartable: Some(true),
            sources: vec![source],
            ..CheckpointReading::default()
        }))
    }
}

impl CheckpointReader for MadeUp {
    fn read(&self, _: Duration) -> BoxFuture<'_, Result<CheckpointReading, Unread>> {
        ready(Ok(self.0.lock().unwrap().clone())).boxed()
    }

    fn location(&self) -> &str {
        "made up"
    }

    fn requests(&self) -> RequestCounts {
        RequestCounts::default()
    }
}
