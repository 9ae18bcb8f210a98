//! A ledger in trouble, under the real daemon: it watches on in memory, says so in its metrics, keeps what it finds, and
//! writes that down when it can.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use brinkwatch::ledger::{Desk, FILE_NAME, Gap};
use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer};
use tempfile::TempDir;
use tokio::time::Instant;

/// Many times what a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(90);
/// The stand-in keeps this much of a partition.
const KEPT: usize = 5 * 1024 * 1024;
const RECORD: usize = 20 * 1024;
const NOBODY: u32 = 65534;

/// A query that stopped at offset 5 of a log that keeps only its newest 5 MiB.
struct World {
    folder: TempDir,
    mock: MockCluster<'static, DefaultProducerContext>,
    port: u16,
}

/// A daemon, killed at the latest when its test ends.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // Both fail when it has ended already, which is what is wanted.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let mock = MockCluster::new(1).unwrap();
        mock.create_topic("orders", 1, 1).unwrap();
        let world = Self { port: free_port(), folder, mock };
        world.lose(KEPT / RECORD + 100);
        for (path, text) in [
            ("metadata", "{\"id\":\"943e4fff-ba4f-4018-99d0-a50c4477be0a\"}"),
            ("offsets/0", "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":1,\"conf\":{}}\n{\"orders\":{\"0\":5}}"),
            ("commits/0", "v1\n{\"nextBatchWatermarkMs\":0}"),
        ] {
            let file = world.path("checkpoint").join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes so many records, and as many old ones go.
    fn lose(&self, records: usize) {
        let producer: BaseProducer = ClientConfig::new()
            .set("bootstrap.servers", self.mock.bootstrap_servers())
            .set("batch.num.messages", "1")
            .create()
            .unwrap();
        for _ in 0..records {
            producer.send(BaseRecord::<(), [u8]>::to("orders").partition(0).payload(&[7; RECORD])).unwrap();
        }
        producer.flush(Duration::from_secs(30)).unwrap();
    }

    fn configured(&self, state_dir: &Path, port: u16) -> PathBuf {
        let (state, servers) = (state_dir.display(), self.mock.bootstrap_servers());
        let checkpoint = self.path("checkpoint");
        let text = format!(
            "state_dir = \"{state}\"\npoll_interval = \"1s\"\n[server]\nlisten = \"127.0.0.1:{port}\"\n\
             [clusters.main]\nbootstrap_servers = \"{servers}\"\n\
             [queries.orders]\ncheckpoint = \"{}\"\ncluster = \"main\"\n",
            checkpoint.display()
        );
        let file = self.path(&format!("brinkwatch-{port}.toml"));
        fs::write(&file, text).unwrap();
        file
    }

    fn start(&self, state_dir: &Path) -> Daemon {
        self.start_as(Command::new(env!("CARGO_BIN_EXE_brinkwatch")), state_dir)
    }

    fn start_as(&self, mut program: Command, state_dir: &Path) -> Daemon {
        let config = self.configured(state_dir, self.port);
        let child = program.args(["run", "--config"]).arg(config).stdout(Stdio::null()).stderr(Stdio::null());
        Daemon(child.spawn().unwrap())
    }

    /// What the scrape says once it fits.
    fn wait(&self, what: &str, fits: impl Fn(&Scrape) -> bool) -> Scrape {
        let began = Instant::now();
        let mut last = Scrape(String::new());
        while began.elapsed() < PATIENCE {
            let url = format!("http://127.0.0.1:{}/metrics", self.port);
            if let Ok(mut answer) = ureq::get(url).call() {
                last = Scrape(answer.body_mut().read_to_string().unwrap());
                if fits(&last) {
                    return last;
                }
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("{what} did not come about:\n{}", last.0);
    }

    /// Once all is written down: the records hold what the counter says, each offset once.
    fn check_records(&self, state_dir: &Path, at_least: f64) {
        let well = self.wait("a ledger that is well", |now| now.is_well() && now.lost() >= at_least);
        let mut gaps = records(state_dir);
        gaps.sort_by_key(|gap| gap.from);
        assert!(gaps.windows(2).all(|pair| pair[0].to <= pair[1].from), "{gaps:?}");
        assert!(gaps.first().is_some_and(|gap| gap.from == 5), "{gaps:?}");
        let recorded: i64 = gaps.iter().map(|gap| gap.to - gap.from).sum();
        assert!(recorded >= number(well.lost()), "{recorded} are recorded, {} were visible", well.lost());
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a count of offsets")]
fn number(value: f64) -> i64 {
    value as i64
}

struct Scrape(String);

impl Scrape {
    fn value(&self, start: &str) -> Option<f64> {
        let line = self.0.lines().find(|line| line.starts_with(start))?;
        line.rsplit_once(' ')?.1.parse().ok()
    }

    fn lost(&self) -> f64 {
        let lines = self.0.lines().filter(|line| {
            line.starts_with("brinkwatch_query_topic_offsets_lost_total{") && line.contains("certainty=\"certain\"")
        });
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
    }

    fn health(&self) -> (Option<f64>, Option<f64>) {
        (self.value("brinkwatch_ledger_up "), self.value("brinkwatch_ledger_persistent "))
    }

    fn is_well(&self) -> bool {
        self.health() == (Some(1.0), Some(1.0))
    }

    fn is_in_trouble(&self) -> bool {
        self.health() == (Some(0.0), Some(0.0))
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn records(folder: &Path) -> Vec<Gap> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { Desk::open_to_read(folder).await.unwrap().gaps().await.unwrap() })
}

/// In trouble from the start; more is lost; the trouble is mended.
fn check(world: &World, state_dir: &Path, mend: impl FnOnce()) {
    let _daemon = world.start(state_dir);
    let first = world.wait("a loss, in memory", |now| now.is_in_trouble() && now.lost() > 0.0);
    world.lose(50);
    let more = world.wait("more of it", |now| now.is_in_trouble() && now.lost() > first.lost());
    mend();
    world.check_records(state_dir, more.lost());
}

#[test]
fn a_corrupt_file_is_left_alone_until_it_is_moved_away() {
    let world = World::new();
    let folder = world.path("state");
    fs::create_dir(&folder).unwrap();
    let garbage = "no database at all ".repeat(600);
    fs::write(folder.join(FILE_NAME), &garbage).unwrap();
    check(&world, &folder, || {
        assert_eq!(fs::read_to_string(folder.join(FILE_NAME)).unwrap(), garbage);
        fs::rename(folder.join(FILE_NAME), folder.join("moved-away")).unwrap();
    });
}

#[test]
fn a_file_of_a_later_release_is_left_alone() {
    let world = World::new();
    let folder = world.path("state");
    {
        let _first = world.start(&folder);
        world.wait("a first ledger", Scrape::is_well);
    }
    let set = |sql: &'static str| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(folder.join(FILE_NAME));
            let mut file = <sqlx::SqliteConnection as sqlx::Connection>::connect_with(&options).await.unwrap();
            sqlx::query(sql).execute(&mut file).await.unwrap();
        });
    };
    set("INSERT INTO ledger_schema (version) VALUES (999)");
    check(&world, &folder, || set("DELETE FROM ledger_schema WHERE version = 999"));
}

#[test]
fn a_folder_that_cannot_be_made_is_tried_again() {
    let world = World::new();
    fs::write(world.path("in-the-way"), "a file").unwrap();
    let folder = world.path("in-the-way").join("state");
    check(&world, &folder, || fs::remove_file(world.path("in-the-way")).unwrap());
}

#[test]
fn a_disk_that_fills_up_costs_nothing_once_there_is_room() {
    let world = World::new();
    let folder = world.path("state");
    // The kernel refuses every write to a file, as on a full disk; the signal that goes with it would end the process.
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_brinkwatch")]);
    let daemon = world.start_as(shell, &folder);
    let limit = |bytes: &str| {
        let pid = format!("--pid={}", daemon.0.id());
        let done = Command::new("prlimit").args([&pid, &format!("--fsize={bytes}:")]).status().unwrap();
        assert!(done.success());
    };
    let first = world.wait("a loss, written down", |now| now.is_well() && now.lost() > 0.0);
    limit("0");
    world.lose(50);
    let more = world.wait("more of it, in memory", |now| now.is_in_trouble() && now.lost() > first.lost());
    let kept: i64 = records(&folder).iter().map(|gap| gap.to - gap.from).sum();
    assert!(kept >= number(first.lost()), "what was written stays");
    limit("unlimited");
    world.check_records(&folder, more.lost());
}

#[test]
fn a_folder_that_can_only_be_read_is_read_and_written_when_it_can_be() {
    let world = World::new();
    let folder = world.path("state");
    let first = {
        let _first = world.start(&folder);
        world.wait("a first ledger", |now| now.is_well() && now.lost() > 0.0)
    };
    let allow = |directory: u32, files: u32| {
        for entry in fs::read_dir(&folder).unwrap() {
            fs::set_permissions(entry.unwrap().path(), Permissions::from_mode(files)).unwrap();
        }
        fs::set_permissions(&folder, Permissions::from_mode(directory)).unwrap();
    };
    allow(0o555, 0o444);
    // Root may write everywhere; somebody else is needed, and a program that they may run.
    let mut program = Command::new(world.path("program"));
    if fs::hard_link(env!("CARGO_BIN_EXE_brinkwatch"), world.path("program")).is_err() {
        fs::copy(env!("CARGO_BIN_EXE_brinkwatch"), world.path("program")).unwrap();
    }
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        program.uid(NOBODY).gid(NOBODY);
    }
    let _daemon = world.start_as(program, &folder);
    // What is remembered is read all the same: the loss goes on from there, and is not counted anew.
    let known = world.wait("a loss, remembered", |now| now.is_in_trouble() && now.lost() >= first.lost());
    world.lose(50);
    let more = world.wait("more of it", |now| now.is_in_trouble() && now.lost() > known.lost());
    allow(0o777, 0o666);
    world.check_records(&folder, more.lost());
}

#[test]
fn a_second_daemon_is_refused_with_a_clear_word() {
    let world = World::new();
    let folder = world.path("state");
    let _first = world.start(&folder);
    world.wait("the first", Scrape::is_well);
    let config = world.configured(&folder, free_port());
    let second = Command::new(env!("CARGO_BIN_EXE_brinkwatch")).args(["run", "--config"]).arg(config).output().unwrap();
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert!(!second.status.success());
    assert!(stderr.contains("another brinkwatch daemon keeps its ledger in"), "{stderr}");
    world.wait("the first, still there", Scrape::is_well);
}
