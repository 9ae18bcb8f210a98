use std::time::Duration;

use super::*;
use crate::measures::TopicName;
use crate::retention::PartitionReading;

const NOW: i64 = 1_800_000_000_000;
const STEP: i64 = 1_000;
const SILENCE: i64 = 1_200_000;
const RECORDS: i64 = 100;

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

/// A record a second, then none for twenty minutes.
fn stamp(number: i64) -> Moment {
    Moment::from_millis(NOW - SILENCE - (RECORDS - number) * STEP)
}

fn look_up(time: Moment) -> Option<(Offset, Moment)> {
    (0..RECORDS).map(|number| (offset(number), stamp(number))).find(|(_, at)| *at >= time)
}

fn request(topic: &str, partition: i32, committed: i64) -> AgeRequest {
    AgeRequest {
        partition: TopicPartition::new(&TopicName::from(topic), partition),
        committed: offset(committed),
        topic_id: None,
        bounds: PartitionReading {
            earliest: offset(0),
            latest: offset(RECORDS),
            stable: None,
            leader_epoch: None,
            oldest: Some((offset(0), stamp(0))),
        },
        retention: Some(Duration::from_secs(86_400)),
    }
}

fn of(topic: &str, committed: &[i64]) -> Vec<AgeRequest> {
    (0..).zip(committed).map(|(partition, committed)| request(topic, partition, *committed)).collect()
}

/// The lanes of a first look, with one leader for all.
fn first(asked: &[AgeRequest]) -> Vec<Lane<'_>> {
    let mut lanes = lanes(&mut Memory::default(), asked, Moment::from_millis(NOW));
    lanes.iter_mut().for_each(|lane| lane.place.leader = Some(1));
    lanes
}

/// Look-ups until the lane has found all.
fn search(lane: &mut Lane<'_>) -> usize {
    while let Some(time) = lane.next() {
        let found = look_up(time).map(|(offset, at)| Found { offset, timestamp: Some(at), leader_epoch: None });
        lane.learn(time, Ok(found), Instant::now());
    }
    lane.asked
}

#[test]
fn who_stands_in_the_middle_goes_first() {
    let check = |asked: &[AgeRequest], expected: &[Ahead]| {
        assert_eq!(pilots(&first(asked)), expected);
    };
    let many = of("many", &[20, 30, 52, 40, 70, 60, 25, 35]);
    check(&many, &[Ahead { pilot: 2, others: 0..8 }]);
    check(&[of("a few", &[50; 7]), many.clone()].concat(), &[Ahead { pilot: 9, others: 7..15 }]);
    check(&of("next to the oldest", &[2; 20]), &[]);
    check(&of("all is read", &[RECORDS; 20]), &[]);
    let mut nobody = first(&many);
    nobody[2].place.leader = None;
    assert_eq!(pilots(&nobody), [], "seven are too few");
}

#[test]
fn nobody_goes_first_where_earlier_rounds_have_looked() {
    let asked = of("moving", &[20, 30, 40, 50, 60, 70, 80, 90]);
    let mut known = first(&asked);
    known.iter_mut().for_each(|lane| _ = search(lane));
    let mut moved = first(&asked);
    for (lane, known) in moved.iter_mut().zip(known) {
        lane.known = known.known;
        lane.known.keep_for(&[offset(20)]);
    }
    assert_eq!(pilots(&moved), []);
}

#[test]
fn what_the_pilot_found_spares_the_others_their_look_ups() {
    let asked = of("silent", &[20, 30, 40, 50, 60, 70, 80, 90]);
    let alone: usize = first(&asked).iter_mut().map(search).sum();
    let mut led = first(&asked);
    let [ahead] = &pilots(&led)[..] else { panic!("one pilot") };
    let pilot = search(&mut led[ahead.pilot]);
    ahead.tell(&mut led);
    led.iter_mut().for_each(|lane| _ = search(lane));
    let all: usize = led.iter().map(|lane| lane.asked).sum();
    assert_eq!((alone, pilot, all), (40, 5, 16));
}
