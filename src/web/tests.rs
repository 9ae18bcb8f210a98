mod access;
mod answers;
mod clients;
mod commands;
mod gaps;
mod hostile;
mod large;
mod settle;
mod shards;

use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

use futures::future::BoxFuture;

use super::*;
use crate::judgement::QueryState;
use crate::ledger::{Acknowledgement, DeskError, Loaded, MemoryLedger, Remembered, RoundNotes, Settlement};
use crate::metrics::fixture::{self, NOW, partition, verdict};
use crate::metrics::snapshot::{ClusterRound, QueryRound};

/// A server on a free port of the loopback, for as long as the value lives.
struct Served {
    address: SocketAddr,
    board: Arc<Board>,
    stopping: CancellationToken,
    shutdown: CancellationToken,
    ledger: Arc<dyn Ledger>,
    state: WebState,
    settings: Arc<ArcSwap<Settings>>,
    serving: Option<tokio::task::JoinHandle<()>>,
    runtime: Option<tokio::runtime::Runtime>,
}

struct Answer {
    status: u16,
    headers: ureq::http::HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A ledger that says of itself that commands can read it.
#[derive(Debug, Default)]
struct Kept(MemoryLedger);

impl Ledger for Kept {
    fn load(&self, cluster: &str) -> BoxFuture<'_, Loaded> {
        self.0.load(cluster)
    }

    fn acknowledgements(&self, cluster: &str) -> BoxFuture<'_, Vec<Acknowledgement>> {
        self.0.acknowledgements(cluster)
    }

    fn gaps(&self) -> BoxFuture<'_, Option<Vec<Gap>>> {
        self.0.gaps()
    }

    fn settle(&self, id: i64, settlement: Settlement) -> BoxFuture<'_, Result<Gap, DeskError>> {
        self.0.settle(id, settlement)
    }

    fn remember(&self, round: RoundNotes) -> BoxFuture<'_, Remembered> {
        self.0.remember(round)
    }
}

impl Served {
    fn empty() -> Self {
        Self::over(|_| Arc::new(MemoryLedger::default()))
    }

    fn over(ledger: impl FnOnce(&tokio::runtime::Runtime) -> Arc<dyn Ledger>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (board, stopping, shutdown) =
            (Arc::new(Board::default()), CancellationToken::new(), CancellationToken::new());
        board.set_about(&about_this_build(true, Some(NOW), Shard::whole()));
        let rules: Rules = Arc::new(|format| match format {
            RulesFormat::Prometheus => Rendered { text: "groups: []\n".to_owned(), etag: "\"a\"".to_owned() },
            RulesFormat::PrometheusRule => {
                Rendered { text: "kind: PrometheusRule\n".to_owned(), etag: "\"b\"".to_owned() }
            }
        });
        let settings = Settings {
            access: Arc::new(Access::default()),
            brokers: [("ingest-eu".to_owned(), "kafka-1:9092".to_owned())].into(),
            config: "poll_interval = \"30s\"\n".to_owned(),
            rules,
            enable_reload: false,
        };
        let ledger = ledger(&runtime);
        let settings = Arc::new(ArcSwap::from_pointee(settings));
        let state = WebState::new(Sources {
            board: Arc::clone(&board),
            ledger: Arc::downgrade(&ledger),
            shard: Shard::whole(),
            options: vec!["--config".to_owned(), "/etc/brinkwatch.toml".to_owned()],
            clock: Arc::new(|| NOW),
            settings: Arc::clone(&settings),
            reload: tokio::sync::mpsc::channel(1).0,
            stopping: stopping.clone(),
        });
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let serving = Some(runtime.spawn(serve(listener, state.clone(), shutdown.clone())));
        Self { address, board, stopping, shutdown, ledger, state, settings, serving, runtime: Some(runtime) }
    }

    fn with(round: ClusterRound) -> Self {
        Self::showing(round, Self::empty())
    }

    /// A ledger outlives the process.
    fn keeping(round: ClusterRound) -> Self {
        Self::showing(round, Self::over(|_| Arc::new(Kept::default())))
    }

    fn showing(round: ClusterRound, served: Self) -> Self {
        served.board.publish(round);
        served
    }

    /// Listens on another port, within other limits.
    fn limit(&mut self, limits: super::serve::Limits) {
        let runtime = self.runtime.as_ref().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        self.address = listener.local_addr().unwrap();
        runtime.spawn(super::serve::serve_within(limits, listener, self.state.clone(), self.shutdown.clone()));
    }

    fn ask(&self, method: &str, path: &str, encoding: &str) -> Answer {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("accept-encoding", encoding);
        self.run(request)
    }

    fn run(&self, request: ureq::http::request::Builder) -> Answer {
        let agent = ureq::Agent::new_with_config(
            ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).build(),
        );
        let mut answer = agent.run(request.body(()).unwrap()).unwrap();
        let mut body = Vec::new();
        answer.body_mut().as_reader().read_to_end(&mut body).unwrap();
        Answer { status: answer.status().as_u16(), headers: answer.headers().clone(), body }
    }

    fn status_if_not(&self, path: &str, known: &str) -> u16 {
        let url = format!("http://{}{path}", self.address);
        ureq::get(url).header("if-none-match", known).call().unwrap().status().as_u16()
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "identity")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.shutdown.cancel();
        self.runtime.take().unwrap().shutdown_timeout(Duration::from_secs(5));
    }
}

#[test]
fn a_scrape_has_the_exact_type_and_is_compressed_for_those_who_ask() {
    let served = Served::with(fixture::round());
    let identity = served.get("/metrics");
    let gzip = served.ask("GET", "/metrics", "gzip");
    for answer in [&identity, &gzip] {
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    }
    assert_eq!(identity.header("content-encoding"), "");
    assert_eq!(gzip.header("content-encoding"), "gzip");
    let unpacked = String::from_utf8(crate::rounds::board::plain(&gzip.body).unwrap()).unwrap();
    let ours = |text: &str| text.split("# HELP process_").next().unwrap().to_owned();
    assert_eq!(ours(&unpacked), ours(&identity.text()));
    let text = identity.text();
    for line in ["process_start_time_seconds ", "brinkwatch_build_info{version=\"0.1.0\"", "brinkwatch_shards 1"] {
        assert!(text.lines().any(|each| each.starts_with(line)), "{line}");
    }
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
    assert!(heads.is_sorted(), "families stand in order of their names");
}

#[test]
fn a_scrape_answers_200_when_nothing_could_be_read() {
    assert_eq!(Served::empty().get("/metrics").status, 200);
    let served = Served::with(ClusterRound::waiting("main", Duration::from_secs(30), Duration::from_secs(90)));
    assert!(served.get("/metrics").text().contains("brinkwatch_cluster_up{kafka_cluster=\"main\"} 0\n"));
}

#[test]
fn every_path_answers_as_agreed() {
    let served = Served::with(fixture::round());
    let check = |method: &str, path: &str, status: u16, kind: &str| {
        let answer = served.ask(method, path, "identity");
        assert_eq!(answer.status, status, "{method} {path}");
        assert!(answer.header("content-type").starts_with(kind), "{method} {path}: {}", answer.header("content-type"));
        assert!(answer.header("content-security-policy").starts_with("default-src 'none'; style-src 'self'"), "{path}");
        assert!(method != "HEAD" || answer.body.is_empty(), "{path}");
    };
    check("GET", "/", 200, "text/html");
    check("GET", "/queries/orders-enriched", 200, "text/html");
    check("GET", "/queries/no-such", 404, "text/html");
    check("GET", "/assets/brinkwatch.css", 200, "text/css");
    check("GET", "/metrics", 200, "text/plain");
    check("GET", "/-/healthy", 200, "text/plain");
    check("HEAD", "/-/healthy", 200, "text/plain");
    check("GET", "/-/ready", 200, "text/plain");
    check("HEAD", "/-/ready", 200, "text/plain");
    check("HEAD", "/", 200, "text/html");
    check("HEAD", "/metrics", 200, "text/plain");
    check("GET", "/gaps", 200, "text/html");
    check("GET", "/api/v1/gaps", 200, "application/json");
    check("GET", "/api/v1/openapi.json", 200, "application/json");
    check("GET", "/api/v1/queries/orders-enriched?format=csv", 200, "text/csv");
    check("GET", "/api/v1/queries/orders-enriched?format=xml", 400, "text/plain");
    check("GET", "/config", 200, "text/plain");
    check("GET", "/rules", 200, "application/yaml");
    check("GET", "/rules?format=prometheusrule", 200, "application/yaml");
    check("GET", "/rules?format=other", 400, "text/plain");
    check("GET", "/api/v1/queries", 200, "application/json");
    check("GET", "/api/v1/queries/orders-enriched", 200, "application/json");
    check("GET", "/api/v1/queries/no-such", 404, "application/json");
    check("GET", "/api/v1/targets", 200, "application/json");
    check("GET", "/nothing", 404, "text/plain");
    check("DELETE", "/", 405, "");
    check("DELETE", "/metrics", 405, "");
}

#[test]
fn readiness_waits_for_the_first_round_is_never_taken_back_and_ends_with_the_stop() {
    let waiting = |cluster| ClusterRound::waiting(cluster, Duration::from_secs(30), Duration::from_secs(90));
    let served = Served::with(waiting("a"));
    assert_eq!(served.get("/-/ready").status, 503);
    served.board.publish(ClusterRound { finished_at: Some(NOW), ..waiting("a") });
    assert_eq!(served.get("/-/ready").status, 200, "a round that failed has ended too");
    served.board.publish(waiting("b"));
    assert_eq!(served.get("/-/ready").status, 200, "a latch");
    served.stopping.cancel();
    assert_eq!(served.get("/-/ready").status, 503);
    assert_eq!(served.get("/-/healthy").status, 200);
}

#[test]
fn the_api_tells_the_numbers_and_null_for_what_is_not_known() {
    let served = Served::with(fixture::round());
    let one = served.get("/api/v1/queries/fraud-features").json();
    let side = &one["clusters"][0];
    assert_eq!(side["severity"], "critical");
    assert_eq!(side["partitions"][0]["committed"], 870_707);
    assert_eq!(side["partitions"][1]["deadline"], "never");
    assert_eq!(side["checked_at"], "2026-11-30T02:52:59.000Z");
    let blind = served.get("/api/v1/queries/orders-copy").json();
    assert!(blind["clusters"][0]["partitions"][0]["lag_offsets"].is_null());
    let all = served.get("/api/v1/queries").json();
    assert_eq!(all["queries"].as_array().unwrap().len(), 5);
    let missing = served.get("/api/v1/queries/ordres-enriched").json();
    assert_eq!(missing["nearest"][0], "orders-enriched");
    let targets = served.get("/api/v1/targets").json();
    assert_eq!(targets["targets"][0]["next_poll"], "2026-11-30T02:53:29.000Z");
    let denied = targets["targets"].as_array().unwrap().iter().find(|each| each["query"] == "orders-copy").unwrap();
    assert_eq!(denied["last_error"]["reason"], "denied");
}

#[test]
fn the_fleet_page_lists_the_worst_first_in_words() {
    let text = Served::with(fixture::round()).get("/").text();
    let places: Vec<usize> = ["orders-enriched", "fraud-features", "orders-copy", "returns", "price-updates"]
        .iter()
        .map(|name| text.find(&format!("href=\"/queries/{name}\"")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    for said in [
        "<title>1 lost, 1 at risk, 1 unreadable, 1 unknown · Brinkwatch</title>",
        "2 queries need you now. 1 more needs a look.",
        "lost 4,200 offsets in 1 partition",
        "data starts to go in 3 h 12 min",
        ">06:05 UTC</time>",
        "nothing unread",
        "could be down for 3 h 12 min, until ",
        "<b>16 %</b>",
        "Remaining retention unknown",
        "2.4 s",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}

#[test]
fn the_fleet_page_filters_and_renews_itself_until_paused() {
    let served = Served::with(fixture::round());
    assert_eq!(served.get("/").header("refresh"), "30");
    let paused = served.get("/?refresh=off&state=lost");
    assert_eq!(paused.header("refresh"), "");
    assert!(paused.text().contains("/?state=lost\">Go on"));
    assert!(!paused.text().contains("/queries/price-updates"));
    let found = served.get("/?q=PRICE").text();
    assert!(found.contains("/queries/price-updates") && !found.contains("/queries/fraud-features"));
    let none = served.get("/?q=prise-updates").text();
    assert!(none.contains("Nearest name: <a href=\"/queries/price-updates\">"), "{none}");
    assert!(Served::empty().get("/").text().contains("No query is configured yet"));
    assert_eq!(served.get("/queries/price-updates").header("refresh"), "");
}

#[test]
fn the_query_page_draws_the_log_and_names_what_is_lost() {
    let text = Served::with(fixture::round()).get("/queries/orders-enriched").text();
    for said in [
        "<title>Lost 4,200 offsets in 1 partition: orders-enriched · Brinkwatch</title>",
        "4,200 unread offsets are gone, in 1 of 2 partitions.",
        "Stop the clock: keep what is left",
        "<span>retention.ms=910800000</span>",
        "<span>kafka-1:9092</span>",
        "Partition 0: earliest 39,588,758, committed 39,584,558, latest 40,726,617, lost 4,200",
        "class=\"gone\" x=\"1.00%\"",
        "\u{2212}4,200",
        "noncanonical_batch_name",
        "position moved back",
        "<span>brinkwatch</span> <span>check</span> <span>orders-enriched</span>",
        "Never edit a file in the checkpoint.",
        "The next partition follows from ",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert_eq!(text.matches("<h1").count(), 1);
}

#[test]
fn an_unknown_query_gets_its_nearest_names() {
    let answer = Served::with(fixture::round()).get("/queries/ordres-enriched");
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("<a href=\"/queries/orders-enriched\">orders-enriched</a>"));
}

#[test]
fn a_page_says_that_its_round_is_too_old() {
    let mut round = fixture::round();
    round.finished_at = Some(fixture::ago(1_920));
    let text = Served::with(round).get("/").text();
    assert!(text.contains("Not current: no round of ingest-eu has ended since 02:21 UTC"), "{text}");
    assert!(!text.contains("9,000,000"), "old lag is not told");
}

#[test]
fn before_the_first_round_a_query_is_listed_as_not_read() {
    let mut round = ClusterRound::waiting("main", Duration::from_secs(30), Duration::from_secs(90));
    round.queries.insert("orders".to_owned(), QueryRound::waiting("file:///orders"));
    let served = Served::with(round);
    let text = served.get("/").text();
    assert!(text.contains("first round under way") && text.contains("1 query is not known."), "{text}");
    assert_eq!(served.get("/queries/orders").status, 200);
}

#[test]
fn the_stop_ends_the_server_within_its_grace_though_a_request_is_half_sent() {
    use std::io::Write;
    let mut served = Served::empty();
    let mut half = std::net::TcpStream::connect(served.address).unwrap();
    half.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n").unwrap();
    assert_eq!(served.get("/-/healthy").status, 200);
    served.shutdown.cancel();
    let serving = served.serving.take().unwrap();
    let runtime = served.runtime.as_ref().unwrap();
    let ended = runtime.block_on(async { tokio::time::timeout(GRACE * 2, serving).await });
    ended.expect("it ended in time").unwrap();
}

#[test]
fn rules_that_the_asker_has_are_not_sent_again() {
    let served = Served::empty();
    assert_eq!(served.status_if_not("/rules", "\"other\", \"a\""), 304);
    assert_eq!(served.status_if_not("/rules", "\"b\""), 200);
    assert_eq!(served.status_if_not("/rules?format=prometheusrule", "\"b\""), 304);
}
