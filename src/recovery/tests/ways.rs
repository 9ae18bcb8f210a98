//! Which ways on fit, and why the others do not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{at, offset};
use crate::judgement::{
    Condition, Outcome, PartitionState, PartitionVerdict, QueryState, QueryVerdict, Restart, SkippedRange,
};
use crate::recovery::{Subject, Way, WayOn, line, ways};

fn partition(state: PartitionState, committed: i64, earliest: i64, latest: i64) -> PartitionVerdict {
    let lost = if state == PartitionState::Lost { earliest - committed } else { 0 };
    PartitionVerdict {
        state,
        reason: "".into(),
        problems: BTreeSet::new(),
        committed: Some(offset(committed)),
        planned: None,
        earliest: Some(offset(earliest)),
        latest: Some(offset(latest)),
        headroom: None,
        lag: None,
        lost: u64::try_from(lost).ok(),
        possibly_lost: None,
        beyond_end: None,
        ratio: None,
        deadline: None,
        forecast: None,
        oldest_unread: None,
        unproved: None,
    }
}

fn verdict(state: QueryState, partition: PartitionVerdict) -> QueryVerdict {
    QueryVerdict {
        state,
        reason: "as it is".into(),
        conditions: BTreeSet::new(),
        partitions: BTreeMap::from([(at(0), partition)]),
        topics: BTreeMap::new(),
        unreadable: None,
        problems: Vec::new(),
        query_id: None,
        offset_log_version: None,
        newest_planned: None,
        newest_committed: None,
        restartable: Some(true),
        last_commit_at: Some(super::NOW),
        last_progress_at: None,
        unread_since: None,
        open_batch_at: None,
        expected_interval: Duration::from_secs(60),
        events: Vec::new(),
        newly_lost: Vec::new(),
        turned_certain: Vec::new(),
        event_totals: BTreeMap::new(),
    }
}

fn restart(outcome: Outcome, skipped: Option<(i64, i64)>) -> Restart {
    let skipped = skipped.map(|(from, to)| SkippedRange { partition: at(0), from: offset(from), to: offset(to) });
    Restart {
        outcome,
        error_class: None,
        partition: None,
        detail: "orders/0 is in the way".to_owned(),
        skipped: skipped.into_iter().collect(),
    }
}

fn found(verdict: &QueryVerdict, strict: &Restart, tolerant: &Restart) -> Vec<WayOn> {
    ways(&Subject::query("my orders", &[]), verdict, strict, tolerant)
}

#[test]
fn each_situation_has_ways_that_fit_with_their_command_and_ways_that_do_not_with_their_reason() {
    use Outcome::{Fails, Starts, StartsAndSkips, StartsThenFails};
    use Way::{AcceptGap, Backfill, NewCheckpoint, NoneNeeded};
    let check = |name: &str, verdict: &QueryVerdict, strict: &Restart, tolerant: &Restart, fitting: &[(Way, &str)]| {
        let ways = found(verdict, strict, tolerant);
        let fits: Vec<(Way, String)> =
            ways.iter().filter(|way| way.fits).map(|way| (way.way, line(way.command.as_ref().unwrap()))).collect();
        let expected: Vec<(Way, String)> =
            fitting.iter().map(|(way, command)| (*way, format!("brinkwatch {command}"))).collect();
        assert_eq!(fits, expected, "{name}");
        assert_eq!(ways.len(), 4, "{name}");
        assert!(ways.iter().all(|way| !way.why.is_empty() && way.fits == way.command.is_some()), "{name}");
        assert!(ways.windows(2).all(|pair| pair[0].fits || !pair[1].fits), "{name}: those that fit come first");
    };
    let starts = restart(Starts, None);
    let behind = verdict(QueryState::Behind, partition(PartitionState::Behind, 50, 10, 90));
    check("nothing is lost", &behind, &starts, &starts, &[(NoneNeeded, "check 'my orders'")]);

    let new_at_committed = (NewCheckpoint, "starting-offsets 'my orders' --at committed");
    let accept = (AcceptGap, "gaps record 'my orders' --found --evidence TICKET --by NAME");
    let backfill = (Backfill, "gaps backfill 'my orders'");
    let lost = verdict(QueryState::Lost, partition(PartitionState::Lost, 5, 10, 90));
    let (fails, skips) = (restart(StartsThenFails, None), restart(StartsAndSkips, Some((5, 10))));
    check("aged out", &lost, &fails, &skips, &[accept, new_at_committed, backfill]);
    check("aged out in real-time mode", &lost, &fails, &fails, &[new_at_committed, backfill]);

    let new_at_earliest = (NewCheckpoint, "starting-offsets 'my orders' --at earliest");
    let recreated = verdict(QueryState::Recreated, partition(PartitionState::Recreated, 50, 0, 90));
    check("made again, and grown past it", &recreated, &starts, &starts, &[new_at_earliest]);
    let beyond = verdict(QueryState::BeyondEnd, partition(PartitionState::BeyondEnd, 120, 0, 90));
    let changed = restart(Fails, None);
    check("beyond the end", &beyond, &changed, &restart(StartsAndSkips, Some((0, 90))), &[new_at_earliest]);

    let gone = verdict(QueryState::Gone, partition(PartitionState::Gone, 50, 0, 0));
    check("the topic is gone", &gone, &changed, &changed, &[]);

    let mut elsewhere = verdict(QueryState::ClusterMismatch, partition(PartitionState::Unverified, 50, 0, 90));
    elsewhere.conditions.insert(Condition::ClusterMismatch);
    let at_a_time = (NewCheckpoint, "starting-offsets 'my orders' --at 2026-11-30T02:53:08Z");
    check("another cluster", &elsewhere, &starts, &starts, &[at_a_time]);
    let mut torn = verdict(QueryState::Behind, partition(PartitionState::Behind, 50, 10, 90));
    torn.restartable = Some(false);
    check("files that Spark refuses", &torn, &changed, &changed, &[new_at_committed]);
}

#[test]
fn why_a_way_does_not_fit_is_said_with_its_numbers() {
    let beyond = verdict(QueryState::BeyondEnd, partition(PartitionState::BeyondEnd, 120, 0, 90));
    let tolerant = restart(Outcome::StartsAndSkips, Some((0, 90)));
    let ways = found(&beyond, &restart(Outcome::Fails, None), &tolerant);
    let why = |way: Way| ways.iter().find(|found| found.way == way).unwrap().why.as_str();
    assert_eq!(why(Way::AcceptGap), "it would also pass over 90 offsets that are still in Kafka");
    assert_eq!(why(Way::NoneNeeded), "a restart does not go well: orders/0 is in the way");
    assert_eq!(why(Way::Backfill), "no offset is known to be gone from Kafka");
}

#[test]
fn a_checkpoint_given_by_hand_is_in_no_ledger_and_no_way_on_asks_one() {
    let by_hand = Subject {
        name: "given".to_owned(),
        arguments: ["--checkpoint", "/data/it's here", "--bootstrap-servers", "b:9092"].map(str::to_owned).to_vec(),
        options: Vec::new(),
        no_ledger: Some("of a checkpoint given by hand"),
    };
    let lost = verdict(QueryState::Lost, partition(PartitionState::Lost, 5, 10, 90));
    let (fails, skips) = (restart(Outcome::StartsThenFails, None), restart(Outcome::StartsAndSkips, Some((5, 10))));
    let ways = ways(&by_hand, &lost, &fails, &skips);
    let commands: Vec<String> = ways.iter().filter_map(|way| Some(line(way.command.as_ref()?))).collect();
    let given = "--checkpoint '/data/it'\\''s here' --bootstrap-servers b:9092";
    let kept = format!("brinkwatch check {given} --output json");
    assert_eq!(commands, [kept.clone(), format!("brinkwatch starting-offsets {given} --at committed"), kept]);
}

/// `check` told commands that a configuration without `state_dir` refuses.
#[test]
fn without_a_ledger_no_way_on_asks_one() {
    let lost = verdict(QueryState::Lost, partition(PartitionState::Lost, 5, 10, 90));
    let (fails, skips) = (restart(Outcome::StartsThenFails, None), restart(Outcome::StartsAndSkips, Some((5, 10))));
    let unkept = Some("by this configuration (state_dir is empty)");
    let subject = Subject { no_ledger: unkept, ..Subject::query("orders", &[]) };
    let ways = ways(&subject, &lost, &fails, &skips);
    let commands: Vec<String> = ways.iter().filter_map(|way| Some(line(way.command.as_ref()?))).collect();
    let kept = "brinkwatch check orders --output json";
    assert_eq!(commands, [kept, "brinkwatch starting-offsets orders --at committed", kept]);
    assert!(
        ways[0]
            .why
            .ends_with("no ledger is kept by this configuration (state_dir is empty), so keep what check says of it")
    );
}
