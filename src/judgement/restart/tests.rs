use proptest::prelude::*;

use super::*;

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn any_bounds() -> impl Strategy<Value = PartitionReading> {
    (0..30_i64, 0..30_i64, prop::option::of(0..60_i64)).prop_map(|(earliest, size, stable)| PartitionReading {
        earliest: offset(earliest),
        latest: offset(earliest + size),
        stable: stable.map(offset),
        leader_epoch: None,
        oldest: None,
    })
}

fn reading(topic: &TopicName, committed: i64) -> CheckpointReading {
    let position = Position { committed: Some(offset(committed)), ..Position::default() };
    CheckpointReading {
        restartable: Some(true),
        sources: vec![SourceReading {
            index: 0,
            id: "0".to_owned(),
            kind: SourceKind::Kafka,
            committed_from: Some("offsets/1".to_owned()),
            planned_from: None,
            topics: BTreeMap::from([(TopicName::clone(topic), BTreeMap::from([(0, position)]))]),
        }],
        ..CheckpointReading::default()
    }
}

proptest! {
    #[test]
    fn a_partition_that_reads_on_is_one_of_which_nothing_would_come_anyway(
        bounds in any_bounds(),
        committed in prop::option::of(0..70_i64),
        planned in prop::option::of(0..70_i64),
        (dropped, open, strict, committed_only, real_time) in any::<(bool, bool, bool, bool, bool)>(),
    ) {
        let isolation = if committed_only { Isolation::ReadCommitted } else { Isolation::ReadUncommitted };
        let settings = QuerySettings { isolation, ..QuerySettings::default() };
        let plan = Plan { cluster: &ClusterReading::default(), settings: &settings, strict, open, real_time };
        let position = Position {
            committed: committed.map(offset),
            planned: planned.map(offset),
            dropped,
            ..Position::default()
        };
        let broker = BTreeMap::from([(0, Ok(bounds))]);
        if plan.reads_on(&position, broker.get(&0)) {
            prop_assert_eq!(plan.partition(&TopicName::from("t"), 0, &position, &broker), None);
        }
    }

    #[test]
    fn a_closed_batch_is_judged_by_where_it_ends(bounds in any_bounds(), committed in 0..70_i64) {
        let topic = TopicName::from("t");
        let seen = crate::retention::TopicReading {
            partitions: BTreeMap::from([(0, Ok(bounds))]),
            ..crate::retention::TopicReading::default()
        };
        let cluster = ClusterReading {
            topics: BTreeMap::from([(TopicName::clone(&topic), TopicSight::Seen(seen))]),
            ..ClusterReading::default()
        };
        let outcome = |strict| predict(&reading(&topic, committed), &cluster, &QuerySettings::default(), strict).outcome;
        let expected = match offset(committed) {
            start if start < bounds.earliest => Outcome::StartsThenFails,
            start if start > bounds.latest => Outcome::Fails,
            _ => Outcome::Starts,
        };
        prop_assert_eq!(outcome(true), expected);
        let forced = if expected == Outcome::Starts { Outcome::Starts } else { Outcome::StartsAndSkips };
        prop_assert_eq!(outcome(false), forced);
    }
}
