//! A round that could not tell how long something has left.

use super::*;

/// At risk: of an hour, ten minutes are left.
fn at_risk() -> World {
    let mut story = world(100, 0, 200);
    story.age(0, 100, 3000);
    assert_eq!(story.round(30).state, QueryState::AtRisk);
    story
}

#[track_caller]
fn check(mut story: World, expected: QueryState) {
    assert_eq!(story.round(30).state, expected);
}

#[test]
fn a_risk_stays_while_nobody_can_say_how_long_the_same_record_has_left() {
    let mut denied = at_risk();
    denied.orders().limits = Some(Err(Unread::new(Reason::Denied, "topic authorization failed")));
    check(denied, QueryState::AtRisk);
    let mut unproved = at_risk();
    unproved.kafka().ages.clear();
    check(unproved, QueryState::AtRisk);
}

#[test]
fn it_goes_when_the_query_has_read_on_or_the_record_is_known_to_live() {
    let mut read_on = at_risk();
    read_on.kafka().ages.clear();
    read_on.commit(8, &[(0, 150)]);
    check(read_on, QueryState::Behind);
    let mut for_ever = at_risk();
    if let Some(Ok(limits)) = &mut for_ever.orders().limits {
        limits.retention_ms = Some(-1);
    }
    check(for_ever, QueryState::Behind);
}
