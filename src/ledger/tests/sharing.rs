//! Several daemons, and people, on one ledger.

use std::collections::BTreeMap;

use super::bed::{daemon, everywhere};
use super::file::{NOW, ranges, round};
use super::merging::gap;
use crate::judgement::Certainty::Certain;
use crate::judgement::{EventKind, QueryMemory};
use crate::ledger::database::Database;
use crate::ledger::writer::Writer;
use crate::ledger::{
    Acknowledge, Desk, Gap, Place, RecoveryPath, RecoveryStatus, RoundNotes, Settlement, Written, schema, watchers,
};
use crate::measures::Moment;

fn after(seconds: i64) -> Moment {
    Moment::from_millis(NOW.millis() + 1000 * seconds)
}

/// A round that ended so many seconds later, with a memory that tells how often a position was moved back.
fn remembering(query: &str, times: u64, seconds: i64) -> RoundNotes {
    let mut memory = QueryMemory::default();
    memory.event_totals.insert(EventKind::PositionMovedBack, (times, NOW));
    let memories = BTreeMap::from([(query.to_owned(), memory)]);
    RoundNotes { at: after(seconds), memories: Written::default().changes(&memories).unwrap(), ..round(vec![]) }
}

fn times(memory: &QueryMemory) -> u64 {
    memory.event_totals[&EventKind::PositionMovedBack].0
}

async fn well(writer: &mut Writer, notes: RoundNotes) {
    assert!(writer.remember(notes).await.health.up);
}

#[tokio::test]
async fn two_daemons_that_find_one_loss_at_once_leave_one_record() {
    everywhere(async |place| {
        let (mut one, mut other) = (daemon(place, "one"), daemon(place, "other"));
        well(&mut one, round(vec![])).await;
        well(&mut other, round(vec![])).await;
        for partition in 0..20 {
            let found = |from, to| Gap { partition, ..gap(from, to, Certain) };
            tokio::join!(well(&mut one, round(vec![found(0, 100)])), well(&mut other, round(vec![found(50, 120)])),);
        }
        assert_eq!(ranges(place).await, [(0, 120); 20]);
    })
    .await;
}

#[tokio::test]
async fn daemons_that_find_losses_in_another_order_do_not_wait_for_each_other_for_ever() {
    everywhere(async |place| {
        let (mut one, mut other) = (daemon(place, "one"), daemon(place, "other"));
        well(&mut one, round(vec![])).await;
        well(&mut other, round(vec![])).await;
        for step in 0..10 {
            let found = |query: &str| Gap { stream_name: query.to_owned(), ..gap(step * 10, step * 10 + 10, Certain) };
            tokio::join!(
                well(&mut one, round(vec![found("a"), found("b"), found("c")])),
                well(&mut other, round(vec![found("c"), found("b"), found("a")])),
            );
        }
        assert_eq!(ranges(place).await, [(0, 100); 3]);
    })
    .await;
}

#[tokio::test]
async fn what_a_person_settles_while_the_loss_goes_on_stays_settled() {
    everywhere(async |place| {
        let mut writer = daemon(place, "one");
        let settlement = Settlement {
            path: RecoveryPath::AcceptGap,
            status: RecoveryStatus::Accepted,
            evidence: "ticket 4711".to_owned(),
            by: "anna".to_owned(),
        };
        for partition in 0..10 {
            let found = |to| Gap { partition, ..gap(0, to, Certain) };
            well(&mut writer, round(vec![found(100)])).await;
            let mut desk = Desk::open_to_write(place).await.unwrap();
            let id = desk.gaps().await.unwrap().iter().find(|gap| gap.partition == partition).unwrap().id.unwrap();
            let (settled, ()) = tokio::join!(desk.settle(id, &settlement), well(&mut writer, round(vec![found(130)])));
            assert_eq!(settled.unwrap().recovery_status, RecoveryStatus::Accepted);
            assert_eq!(desk.gap(id).await.unwrap().recovery_status, RecoveryStatus::Accepted);
        }
    })
    .await;
}

async fn acknowledge(place: &Place) {
    let said = Acknowledge {
        query: "orders".to_owned(),
        topic: None,
        partition: None,
        evidence: "ticket 4711".to_owned(),
        by: "anna".to_owned(),
    };
    Desk::open_to_write(place).await.unwrap().acknowledge(&said, NOW).await.unwrap();
}

/// Hears what there is, and writes down that it did. Answers with how much it was.
async fn hear(writer: &mut Writer) -> usize {
    let heard: Vec<i64> = writer.unheard("main").await.iter().map(|one| one.id).collect();
    let count = heard.len();
    well(writer, RoundNotes { acknowledged: heard, ..remembering("orders", 1, 0) }).await;
    count
}

#[tokio::test]
async fn every_daemon_hears_what_people_say_and_each_of_them_once() {
    everywhere(async |place| {
        let (mut one, mut other) = (daemon(place, "one"), daemon(place, "other"));
        hear(&mut one).await;
        hear(&mut other).await;
        acknowledge(place).await;
        assert_eq!((hear(&mut one).await, hear(&mut one).await), (1, 0));
        assert_eq!((hear(&mut other).await, hear(&mut other).await), (1, 0));
        acknowledge(place).await;
        assert_eq!((hear(&mut other).await, hear(&mut one).await), (1, 1));
    })
    .await;
}

#[tokio::test]
async fn a_query_that_moves_to_another_daemon_finds_its_memory_and_what_that_has_heard() {
    everywhere(async |place| {
        let mut before = daemon(place, "before");
        hear(&mut before).await;
        acknowledge(place).await;
        assert_eq!(hear(&mut before).await, 1);
        acknowledge(place).await;

        let mut after = daemon(place, "after");
        well(&mut after, remembering("returns", 7, 0)).await;
        let loaded = after.load("main").await;
        assert_eq!((times(&loaded.memories["orders"]), times(&loaded.memories["returns"])), (1, 7));
        assert_eq!(loaded.adopted.iter().collect::<Vec<_>>(), ["orders"], "under its own name nothing is written yet");
        let unheard: Vec<i64> = after.unheard("main").await.iter().map(|one| one.id).collect();
        let heard: Vec<i64> = loaded.heard["orders"].iter().copied().collect();
        assert_eq!((unheard.len(), heard.len()), (2, 1), "the first word is in the memory already");
        assert!(unheard.contains(&heard[0]));
    })
    .await;
}

#[tokio::test]
async fn an_old_word_about_a_query_that_nobody_remembers_releases_nothing() {
    everywhere(async |place| {
        let mut writer = daemon(place, "one");
        hear(&mut writer).await;
        acknowledge(place).await;
        let mut connection = schema::open_existing(place).await.unwrap();
        connection.run("DELETE FROM query_memory").await.unwrap();
        let loaded = daemon(place, "other").load("main").await;
        assert!(loaded.memories.is_empty());
        assert_eq!(loaded.heard["orders"].len(), 1);
    })
    .await;
}

#[tokio::test]
async fn each_daemon_goes_on_with_its_own_memory_unless_it_was_away() {
    everywhere(async |place| {
        let (mut one, mut other) = (daemon(place, "one"), daemon(place, "other"));
        well(&mut one, remembering("orders", 5, 0)).await;
        well(&mut other, remembering("orders", 4, 20)).await;
        let of_one = async || daemon(place, "one").load("main").await;
        let loaded = of_one().await;
        assert_eq!(times(&loaded.memories["orders"]), 5, "what was counted is never counted down");
        assert!(loaded.adopted.is_empty());
        well(&mut other, remembering("orders", 9, 3600)).await;
        let loaded = of_one().await;
        assert_eq!((times(&loaded.memories["orders"]), loaded.adopted.len()), (9, 1));
        // Whoever is nobody, such as a command, takes the newest.
        let memories = Desk::open_to_read(place).await.unwrap().memories("main").await.unwrap();
        assert_eq!(times(&memories["orders"]), 9);
    })
    .await;
}

#[tokio::test]
async fn what_daemons_remembered_that_are_gone_for_good_is_cleared_away_where_another_knows_better() {
    everywhere(async |place| {
        let day = 24 * 3600;
        let (mut gone, mut here) = (daemon(place, "gone"), daemon(place, "here"));
        well(&mut gone, remembering("orders", 1, 0)).await;
        well(&mut gone, remembering("returns", 1, 0)).await;
        well(&mut here, remembering("orders", 2, 6 * day)).await;
        let mut connection = schema::open_existing(place).await.unwrap();
        watchers::seen(&mut connection, "gone", NOW).await.unwrap();
        let known = async |query: &str| {
            let text = "SELECT watcher FROM query_memory WHERE query = ? ORDER BY watcher";
            let mut connection = schema::open_existing(place).await.unwrap();
            let rows = connection.rows(crate::ledger::statement::sql(text).bind(query)).await.unwrap();
            rows.iter().map(|row| row.get::<String>("watcher").unwrap()).collect::<Vec<_>>()
        };
        watchers::seen(&mut connection, "here", after(6 * day)).await.unwrap();
        assert_eq!(known("orders").await, ["gone", "here"]);
        watchers::seen(&mut connection, "here", after(8 * day)).await.unwrap();
        assert_eq!(known("orders").await, ["here"]);
        assert_eq!(known("returns").await, ["gone"], "nobody else remembers it");
        // Nor does the list of daemons grow with each start: what nobody needs any more goes.
        let names = async || {
            let mut connection = schema::open_existing(place).await.unwrap();
            let rows = connection.rows(crate::ledger::statement::sql("SELECT name FROM watchers ORDER BY name")).await;
            rows.unwrap().iter().map(|row| row.get::<String>("name").unwrap()).collect::<Vec<_>>()
        };
        watchers::seen(&mut connection, "empty", NOW).await.unwrap();
        assert_eq!(names().await, ["empty", "gone", "here"]);
        well(&mut here, remembering("returns", 3, 8 * day)).await;
        watchers::seen(&mut connection, "here", after(9 * day)).await.unwrap();
        assert_eq!(names().await, ["here"]);
    })
    .await;
}

#[tokio::test]
async fn a_text_that_postgresql_cannot_hold_does_not_stop_the_ledger() {
    everywhere(async |place| {
        let mut writer = daemon(place, "one");
        well(&mut writer, round(vec![Gap { evidence: "a\0b".to_owned(), ..gap(0, 10, Certain) }])).await;
        assert_eq!(ranges(place).await, [(0, 10)]);
    })
    .await;
}

/// A pooler hands a connection on, and what one daemon left there would meet the next.
#[tokio::test]
async fn no_statement_is_left_behind_on_the_server() {
    everywhere(async |place| {
        well(&mut daemon(place, "one"), round(vec![gap(0, 10, Certain)])).await;
        let mut connection = schema::open_existing(place).await.unwrap();
        assert_eq!(watchers::unheard(&mut connection, "one", "main").await.unwrap(), []);
        if matches!(connection, Database::Postgres(_)) {
            let left = connection.rows(crate::ledger::statement::sql("SELECT name FROM pg_prepared_statements")).await;
            assert!(left.unwrap().is_empty());
        }
    })
    .await;
}
