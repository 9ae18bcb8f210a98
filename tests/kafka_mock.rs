//! The Kafka reader against librdkafka's mock cluster: real sockets, no broker to install. The mock answers no
//! configuration and no look-up by time, so those are tested elsewhere.

#![expect(clippy::unwrap_used, reason = "a test; helpers outside of test functions count as code")]

use std::collections::BTreeMap;
use std::future::Future;
use std::net::TcpListener;
use std::time::Duration;

use brinkwatch::measures::{Moment, Offset, Reason, TopicName, TopicPartition};
use brinkwatch::readers::kafka::{KafkaOptions, KafkaReader};
use brinkwatch::readers::{AgeRequest, BrokerReader, WantedTopic};
use brinkwatch::retention::{Ability, Age, ClusterReading, Limits, TopicReading, TopicSight, Unproved};
use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use tokio::time::Instant;

type Mock = MockCluster<'static, DefaultProducerContext>;

const NOW: Moment = Moment::from_millis(1_800_000_000_000);
const SECONDS_20: Duration = Duration::from_secs(20);

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn options(bootstrap_servers: &str) -> KafkaOptions {
    let short = Limits { retention_ms: Some(60_000), ..Limits::default() };
    KafkaOptions {
        cluster: "mock".to_owned(),
        bootstrap_servers: bootstrap_servers.to_owned(),
        access: BTreeMap::new().into(),
        retention_overrides: BTreeMap::from([(TopicName::from("by-hand"), short)]),
        clock_skew: Duration::from_secs(5),
    }
}

fn reader(mock: &Mock) -> KafkaReader {
    KafkaReader::open(options(&mock.bootstrap_servers())).unwrap()
}

fn wanted(names: &[&str]) -> Vec<WantedTopic> {
    names.iter().map(|name| WantedTopic { name: TopicName::from(*name), stable: false }).collect()
}

/// Puts records of ten bytes into one partition.
fn produce(mock: &Mock, topic: &str, partition: i32, count: usize) {
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", mock.bootstrap_servers()).create().unwrap();
    for _ in 0..count {
        producer.send(BaseRecord::<(), [u8]>::to(topic).partition(partition).payload(&[0; 10])).unwrap();
    }
    producer.flush(SECONDS_20).unwrap();
}

fn topics(reader: &KafkaReader, names: &[&str]) -> ClusterReading {
    run(reader.topics(&wanted(names), NOW, SECONDS_20)).unwrap()
}

fn seen<'a>(reading: &'a ClusterReading, name: &str) -> &'a TopicReading {
    match &reading.topics[name] {
        TopicSight::Seen(topic) => topic,
        other => panic!("{name} is {other:?}"),
    }
}

fn bounds(topic: &TopicReading) -> Vec<Result<(i64, i64), Reason>> {
    let plain = |read: &Result<brinkwatch::retention::PartitionReading, brinkwatch::measures::Unread>| match read {
        Ok(bounds) => Ok((bounds.earliest.get(), bounds.latest.get())),
        Err(unread) => Err(unread.reason),
    };
    topic.partitions.values().map(plain).collect()
}

#[test]
fn bounds_identity_and_absence_are_read() {
    let mock = Mock::new(3).unwrap();
    mock.create_topic("orders", 4, 1).unwrap();
    mock.create_topic("by-hand", 1, 1).unwrap();
    produce(&mock, "orders", 0, 3);
    produce(&mock, "orders", 3, 7);
    let reader = reader(&mock);
    let reading = topics(&reader, &["orders", "by-hand", "missing", "no\0name"]);
    assert!(reading.cluster_id.is_some());
    let orders = seen(&reading, "orders");
    assert_eq!(bounds(orders), [Ok((0, 3)), Ok((0, 0)), Ok((0, 0)), Ok((0, 7))]);
    assert!(orders.topic_id.is_some());
    assert_ne!(orders.topic_id, seen(&reading, "by-hand").topic_id);
    assert_eq!(reading.topics["missing"], TopicSight::Absent);
    assert!(matches!(&reading.topics["no\0name"], TopicSight::Unread(unread) if unread.reason == Reason::Malformed));
    // The mock knows no configuration: unknown, or what was given by hand.
    assert!(matches!(orders.limits, Some(Err(_))), "{:?}", orders.limits);
    let by_hand = seen(&reading, "by-hand").limits.clone().unwrap().unwrap();
    assert_eq!(by_hand.retention_ms, Some(60_000));
    // Asking for a topic that is not there, again and again, creates none.
    assert_eq!(topics(&reader, &["missing"]).topics["missing"], TopicSight::Absent);
    let requests = reader.requests();
    assert!(requests["list_offsets"] >= 6 && requests["describe_topics"] >= 2, "{requests:?}");
}

#[test]
fn latest_alone_is_asked_again() {
    let mock = Mock::new(1).unwrap();
    mock.create_topic("orders", 2, 1).unwrap();
    let reader = reader(&mock);
    topics(&reader, &["orders"]);
    produce(&mock, "orders", 1, 5);
    let orders = TopicName::from("orders");
    let asked = [0, 1, 9].map(|at| TopicPartition::new(&orders, at));
    let latest = run(reader.latest(&asked, SECONDS_20));
    assert_eq!(latest[&asked[0]], Ok(Offset::ZERO));
    assert_eq!(latest[&asked[1]], Ok(Offset::new(5).unwrap()));
    assert!(latest[&asked[2]].is_err());
}

#[test]
fn without_look_ups_by_time_nothing_is_proved() {
    let mock = Mock::new(1).unwrap();
    mock.create_topic("orders", 1, 1).unwrap();
    produce(&mock, "orders", 0, 5);
    let reader = reader(&mock);
    let reading = topics(&reader, &["orders"]);
    let orders = seen(&reading, "orders");
    let request = AgeRequest {
        partition: TopicPartition::new(&TopicName::from("orders"), 0),
        committed: Offset::new(2).unwrap(),
        topic_id: orders.topic_id,
        bounds: *orders.partitions[&0].as_ref().unwrap(),
        retention: Some(Duration::from_secs(60)),
    };
    assert!(reading.unproved.is_empty(), "nobody has searched yet");
    let ages = run(reader.ages(std::slice::from_ref(&request), NOW, SECONDS_20));
    assert_eq!(ages[&(request.partition.clone(), request.committed)], Age::default());
    // From now on it is known, and costs nothing for a while.
    let reading = topics(&reader, &["orders"]);
    assert_eq!(reading.unproved[&request.partition], Unproved::NothingFound);
    assert_eq!(reading.abilities.get(Ability::LookUpsByTime), Some(false));
    assert_eq!(reading.abilities.get(Ability::TopicIds), Some(true));
    let before = reader.look_ups();
    let ages = run(reader.ages(std::slice::from_ref(&request), NOW, SECONDS_20));
    assert_eq!(ages[&(request.partition, request.committed)], Age::default());
    topics(&reader, &["orders"]);
    assert_eq!(reader.look_ups(), before);
}

#[test]
fn a_hung_leader_costs_its_own_partitions_only() {
    let mock = Mock::new(3).unwrap();
    mock.create_topic("orders", 3, 1).unwrap();
    for (partition, leader) in [(0, 1), (1, 2), (2, 3)] {
        mock.partition_leader("orders", partition, Some(leader)).unwrap();
        produce(&mock, "orders", partition, 4);
    }
    let reader = reader(&mock);
    topics(&reader, &["orders"]);
    mock.broker_round_trip_time(2, Duration::from_secs(60)).unwrap();
    let began = Instant::now();
    let reading = topics(&reader, &["orders"]);
    assert_eq!(bounds(seen(&reading, "orders")), [Ok((0, 4)), Err(Reason::TimedOut), Ok((0, 4))]);
    assert!(began.elapsed() < Duration::from_secs(17), "{:?}", began.elapsed());
}

#[test]
fn a_partition_without_a_leader_is_unread_and_its_neighbours_are_not() {
    let mock = Mock::new(2).unwrap();
    mock.create_topic("orders", 2, 1).unwrap();
    mock.partition_leader("orders", 0, None).unwrap();
    let reading = topics(&reader(&mock), &["orders"]);
    assert_eq!(bounds(seen(&reading, "orders")), [Err(Reason::Unreachable), Ok((0, 0))]);
}

#[test]
fn a_moved_leader_is_found_within_the_pass() {
    let mock = Mock::new(2).unwrap();
    mock.create_topic("orders", 1, 2).unwrap();
    mock.partition_leader("orders", 0, Some(1)).unwrap();
    produce(&mock, "orders", 0, 4);
    let reader = reader(&mock);
    topics(&reader, &["orders"]);
    mock.partition_leader("orders", 0, Some(2)).unwrap();
    assert_eq!(bounds(seen(&topics(&reader, &["orders"]), "orders")), [Ok((0, 4))]);
    // The leader's answer is refused once; newer knowledge of the leader cures it.
    mock.partition_leader("orders", 0, Some(1)).unwrap();
    mock.request_errors(RDKafkaApiKey::ListOffsets, &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH]);
    assert_eq!(bounds(seen(&topics(&reader, &["orders"]), "orders")), [Ok((0, 4))]);
}

#[test]
fn a_denied_topic_is_denied_and_not_absent() {
    let mock = Mock::new(1).unwrap();
    for topic in ["mine", "theirs"] {
        mock.create_topic(topic, 1, 1).unwrap();
    }
    mock.topic_error("theirs", RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED).unwrap();
    let reading = topics(&reader(&mock), &["mine", "theirs"]);
    assert_eq!(bounds(seen(&reading, "mine")), [Ok((0, 0))]);
    assert!(matches!(&reading.topics["theirs"], TopicSight::Unread(unread) if unread.reason == Reason::Denied));
}

#[test]
fn a_topic_that_was_seen_is_absent_only_when_it_is_still_absent_when_asked_again() {
    let mock = Mock::new(1).unwrap();
    mock.create_topic("orders", 1, 1).unwrap();
    let reader = reader(&mock);
    topics(&reader, &["orders"]);
    let before = reader.requests()["describe_topics"];
    mock.topic_error("orders", RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).unwrap();
    assert_eq!(topics(&reader, &["orders"]).topics["orders"], TopicSight::Absent);
    assert_eq!(reader.requests()["describe_topics"], before + 2);
}

#[test]
fn a_cluster_that_can_not_be_reached_says_why_and_in_time() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let check = |bootstrap: &str, seconds: u64, reasons: &[Reason]| {
        let reader = KafkaReader::open(options(bootstrap)).unwrap();
        let began = Instant::now();
        let unread = run(reader.topics(&wanted(&["orders"]), NOW, Duration::from_secs(seconds))).unwrap_err();
        assert!(reasons.contains(&unread.reason), "{bootstrap}: {unread}");
        assert!(!unread.detail.is_empty());
        assert!(began.elapsed() < Duration::from_secs(seconds + 2), "{bootstrap}: {:?}", began.elapsed());
        unread.detail
    };
    let refused = check(&free.to_string(), 6, &[Reason::Unreachable]);
    assert!(refused.contains("refused"), "{refused}");
    let unknown = check("no-such-host.invalid:9092", 6, &[Reason::Unreachable]);
    assert!(unknown.contains("no-such-host.invalid"), "{unknown}");
    let closing = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closing.local_addr().unwrap();
    std::thread::spawn(move || closing.incoming().for_each(drop));
    let foreign = check(&address.to_string(), 6, &[Reason::Unreachable]);
    assert!(!foreign.contains("Meta data"), "{foreign}");
    check(&mute.local_addr().unwrap().to_string(), 3, &[Reason::TimedOut, Reason::Unreachable]);
}

#[test]
fn a_reader_whose_broker_hangs_is_dropped_at_once() {
    let mock = Mock::new(1).unwrap();
    mock.create_topic("orders", 1, 1).unwrap();
    let reader = reader(&mock);
    topics(&reader, &["orders"]);
    mock.broker_round_trip_time(1, Duration::from_secs(60)).unwrap();
    let began = Instant::now();
    run(async {
        let pass = reader.topics(&wanted(&["orders"]), NOW, SECONDS_20);
        assert!(tokio::time::timeout(Duration::from_millis(300), pass).await.is_err());
        // The abandoned pass still has the turn.
        let late = reader.topics(&wanted(&["orders"]), NOW, Duration::from_millis(200)).await;
        assert_eq!(late.unwrap_err().reason, Reason::Overrun);
    });
    drop(reader);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn secrets_are_not_printed() {
    let properties = BTreeMap::from([("sasl.password".to_owned(), "hunter2".to_owned())]);
    let options = KafkaOptions { access: properties.into(), ..options("127.0.0.1:1") };
    let printed = format!("{options:?} {:?}", KafkaReader::open(options.clone()).unwrap());
    assert!(printed.contains("sasl.password") && !printed.contains("hunter2"), "{printed}");
}
