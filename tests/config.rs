//! The configuration from outside: every mistake in its words, the layers over one another, what is printed of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use brinkwatch::config::{Config, ConfigError, ConfigFile, LogLevel, Property, SourceKind, effective_toml, load};
use brinkwatch::judgement::Watch;

const FILE: &str = r#"
[clusters.main]
bootstrap_servers = "broker:9092"
[queries.orders]
checkpoint = "/data/orders"
"#;

fn of_layers(file: &str, environment: &[(&str, &str)], overrides: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    load(ConfigFile::Text { name: "brinkwatch.toml", text: file }, owned(environment), &owned(overrides))
}

fn mistakes(environment: &[(&str, &str)], overrides: &[(&str, &str)]) -> String {
    match of_layers(FILE, environment, overrides) {
        Ok(_) => "valid".to_owned(),
        Err(mistakes) => mistakes.to_string(),
    }
}

/// One file per mistake under `config/invalid`; the message beside it is compared whole.
#[test]
fn each_mistake_is_told_in_its_words() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config/invalid");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let cases: Vec<_> = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    assert!(cases.len() > 30, "only {} files found", cases.len());
    let mut differences = Vec::new();
    for path in cases {
        let text = fs::read_to_string(&path).unwrap();
        let said = match of_layers(&text, &[], &[]) {
            Ok(_) => "valid\n".to_owned(),
            Err(mistakes) => format!("{mistakes}\n"),
        };
        let expected = fs::read_to_string(path.with_extension("txt")).unwrap_or_default();
        if said != expected {
            differences.push(format!("{}\n--- expected\n{expected}--- said\n{said}", path.display()));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_later_layer_counts_more() {
    let poll_interval = |environment: &[(&str, &str)], overrides: &[(&str, &str)]| {
        let file = format!("poll_interval = \"40s\"\n{FILE}");
        of_layers(&file, environment, overrides).unwrap().poll_interval.as_secs()
    };
    let variable = ("BRINKWATCH__POLL_INTERVAL", "50s");
    assert_eq!(of_layers(FILE, &[], &[]).unwrap().poll_interval.as_secs(), 30);
    assert_eq!(poll_interval(&[], &[]), 40);
    assert_eq!(poll_interval(&[variable], &[]), 50);
    assert_eq!(poll_interval(&[variable], &[("poll_interval", "60s")]), 60);
    assert_eq!(poll_interval(&[variable], &[("poll_interval", "60s"), ("poll_interval", "70s")]), 70);
}

#[test]
fn the_environment_reaches_into_named_tables_and_leaves_the_rest_of_them() {
    let file = format!("{FILE}max_outage = \"3d\"\n[queries.orders.sources.0]\ncluster = \"main\"\n");
    let environment = [
        ("BRINKWATCH__QUERIES__ORDERS__CHECKPOINT", "/data/other"),
        ("BRINKWATCH__QUERIES__ORDERS__FAIL_ON_DATA_LOSS", "false"),
        ("BRINKWATCH__QUERIES__ORDERS__LAG_FLOOR", "5"),
        ("BRINKWATCH__QUERIES__ORDERS__WATCH", "parked"),
        ("BRINKWATCH__QUERIES__ORDERS__SOURCES__0__KIND", "ignore"),
        ("BRINKWATCH__QUERIES__ORDERS__ALERTS__RISK_WARNING", "0.75"),
        ("BRINKWATCH__QUERIES__PAYMENTS-EU__CHECKPOINT", "/data/payments"),
        ("BRINKWATCH__SERVER__OPEN_PATHS", "/metrics, /-/ready"),
        ("BRINKWATCH__CLUSTERS__MAIN__LIBRDKAFKA__SOCKET_TIMEOUT_MS", "0123"),
    ];
    let config = of_layers(&file, &environment, &[]).unwrap();
    let orders = &config.queries["orders"];
    assert_eq!(orders.checkpoint, "/data/other");
    assert!(!orders.fail_on_data_loss);
    assert_eq!(orders.lag_floor, 5);
    assert_eq!(orders.watch, Watch::Parked);
    assert_eq!(orders.max_outage.as_secs(), 3 * 24 * 3600);
    assert_eq!(orders.sources["0"].kind, Some(SourceKind::Ignore));
    assert_eq!(orders.sources["0"].cluster, "main");
    assert_eq!(orders.alerts.thresholds.risk_warning.to_string(), "0.75");
    assert_eq!(config.queries["payments-eu"].checkpoint, "/data/payments");
    assert_eq!(config.server.open_paths, ["/metrics", "/-/ready"]);
    // Text stays text: a value that looks like a number is not taken for one on the way.
    assert_eq!(config.clusters["main"].librdkafka["socket.timeout.ms"], Property::Plain("0123".to_owned()));
}

#[test]
fn variables_that_kubernetes_makes_for_a_service_are_left_alone_and_so_are_empty_ones() {
    let environment = [
        ("BRINKWATCH_PORT", "tcp://10.0.0.1:9917"),
        ("BRINKWATCH_SERVICE_HOST", "10.0.0.1"),
        ("BRINKWATCH_PORT_9917_TCP_ADDR", "10.0.0.1"),
        ("BRINKWATCH__SERVER__LISTEN", ""),
        ("BRINKWATCH__NO_SUCH_KEY", ""),
        ("PATH", "/bin"),
    ];
    assert_eq!(of_layers(FILE, &environment, &[]), of_layers(FILE, &[], &[]));
}

#[test]
fn a_mistake_in_the_environment_names_the_variable() {
    let check = |name: &str, text: &str, expected: &str| assert_eq!(mistakes(&[(name, text)], &[]), expected);
    check(
        "BRINKWATCH__QUERIES__ORDERS__CHEKPOINT",
        "/data/orders",
        "queries.orders.chekpoint: unknown key; did you mean \"checkpoint\"? \
         (environment variable BRINKWATCH__QUERIES__ORDERS__CHEKPOINT)",
    );
    check(
        "BRINKWATCH__SERVER_LISTEN",
        "0.0.0.0:1",
        "server_listen: unknown key; write two underscores between the names of tables and settings \
         (environment variable BRINKWATCH__SERVER_LISTEN)",
    );
    check(
        "BRINKWATCH__POLL_INTERVAL",
        "30",
        "poll_interval: 30 has no unit; write \"30s\" for seconds (environment variable BRINKWATCH__POLL_INTERVAL)",
    );
    check(
        "BRINKWATCH__POLL_INTERVAL",
        "100ms",
        "poll_interval: 100ms is too short; write \"1s\" or more (environment variable BRINKWATCH__POLL_INTERVAL)",
    );
    // The crate would turn the list into a table and lose it.
    check(
        "BRINKWATCH__SERVER__OPEN_PATHS__0",
        "/metrics",
        "server.open_paths: is one value, not a table; nothing can stand inside it \
         (environment variable BRINKWATCH__SERVER__OPEN_PATHS__0)",
    );
    check("BRINKWATCH____LISTEN", "0.0.0.0:1", "\"\": unknown key (environment variable BRINKWATCH____LISTEN)");
}

#[test]
fn two_variables_that_differ_in_case_only_are_refused() {
    let environment = [("BRINKWATCH__LOG__LEVEL", "info"), ("BRINKWATCH__log__level", "debug")];
    assert_eq!(
        mistakes(&environment, &[]),
        "log.level: is given twice; names that differ only in case, or in dots and underscores, are the same \
         (environment variable BRINKWATCH__log__level)"
    );
}

#[test]
fn a_mistake_on_the_command_line_says_so() {
    assert_eq!(
        mistakes(&[], &[("server.lisen", "0.0.0.0:1"), ("log.level", "loud"), ("log..level", "info")]),
        "log.level: \"loud\" is not one of \"error\", \"warn\", \"info\", \"debug\", \"trace\" (command line)\n\
         \"log..level\": is no key; write the names of the tables and of the setting with dots between them (command line)\n\
         server.lisen: unknown key; did you mean \"listen\"? (command line)"
    );
}

#[test]
fn the_command_line_writes_every_kind_of_key() {
    let overrides = [
        ("log.level", "debug"),
        ("server.open_paths", "/metrics"),
        ("clusters.main.retention_overrides.\"my.topic\".retention_ms", "-1"),
        ("clusters.main.librdkafka.socket.timeout.ms", "10000"),
    ];
    let config = of_layers(FILE, &[], &overrides).unwrap();
    assert_eq!(config.log.level, LogLevel::Debug);
    assert_eq!(config.server.open_paths, ["/metrics"]);
    assert_eq!(config.clusters["main"].retention_overrides["my.topic"].retention_ms, Some(-1));
    assert_eq!(config.clusters["main"].librdkafka["socket.timeout.ms"], Property::Plain("10000".to_owned()));
}

#[test]
fn mistakes_of_all_layers_are_told_at_once() {
    let said = of_layers("poll_intervall = \"30s\"", &[("BRINKWATCH__LOG__FORMAT", "xml")], &[("confirm_polls", "0")]);
    assert_eq!(
        said.unwrap_err().to_string(),
        "confirm_polls: must be 1 or more (command line)\n\
         log.format: \"xml\" is not one of \"logfmt\", \"json\", \"pretty\" (environment variable BRINKWATCH__LOG__FORMAT)\n\
         poll_intervall: unknown key; did you mean \"poll_interval\"? (brinkwatch.toml)"
    );
}

#[test]
fn a_file_that_is_not_there_or_is_no_toml_does_not_hide_the_mistakes_of_other_layers() {
    let environment = [("BRINKWATCH__LOG__FORMAT".to_owned(), "xml".to_owned())];
    let missing = load(ConfigFile::Path(Path::new("no/such.toml")), environment, &[]).unwrap_err().to_string();
    assert_eq!(
        missing,
        "cannot be read: No such file or directory (os error 2) (no/such.toml)\n\
         log.format: \"xml\" is not one of \"logfmt\", \"json\", \"pretty\" (environment variable BRINKWATCH__LOG__FORMAT)"
    );
    let broken = of_layers("a = \"é", &[("BRINKWATCH__LOG__FORMAT", "xml")], &[]).unwrap_err();
    assert_eq!(broken.mistakes().len(), 2, "{broken}");
}

const FULL: &str = r#"
poll_interval = "20s"
stale_after = "12m"
[server]
listen = "[::1]:9000"
open_paths = []
bearer_token_file = "/run/secrets/token"
[server.tls_server_config]
cert_file = "/run/cert.pem"
key_file = "/run/key.pem"
client_ca_file = "/run/ca.pem"
client_auth_type = "VerifyClientCertIfGiven"
min_version = "TLS13"
[alerts]
forecast_critical = "90m"
runbook_base_url = "https://example.org/runbooks"
[clusters.main]
bootstrap_servers = "broker:9092"
poll_interval = "5m"
clock_skew = "1500ms"
[clusters.main.librdkafka]
"socket.timeout.ms" = 10000
socket_keepalive_enable = true
log_level = 7
security_protocol = "SSL"
ssl_key_pem = "hunter2"
sasl_password = "hunter2"
ssl_key_password_file = "/run/secrets/key"
[clusters.main.retention_overrides."my.topic"]
cleanup_policy = "delete,compact"
retention_bytes = 5242880
[clusters.other]
bootstrap_servers = "other:9092"
[stores.lake]
kind = "s3"
endpoint = "http://minio:9000"
allow_http = true
path_style = false
access_key_id = "AKIA"
secret_access_key_file = "/run/secrets/lake"
[stores.pond]
kind = "azure"
account_key = "hunter2"
requests_at_once = 4
[queries.orders]
checkpoint = "s3a://lake/orders"
store = "lake"
cluster = "main"
expected_batch_interval = "36h"
[queries.orders.sources.1]
cluster = "other"
[queries.orders.alerts]
risk_critical = 0.3
stalled_after = 5
"#;

#[test]
fn what_is_shown_loads_as_the_same_configuration_but_for_secrets() {
    let config = of_layers(FULL, &[], &[]).unwrap();
    let shown = effective_toml(&config);
    assert_eq!(shown, effective_toml(&config));
    assert!(!shown.contains("hunter2"), "{shown}");
    assert_eq!(shown.matches("<secret>").count(), 3, "{shown}");
    let mut again = of_layers(&shown, &[], &[]).unwrap();
    let key = config.stores["pond"].account_key.clone();
    again.stores.get_mut("pond").unwrap().account_key = key;
    for secret in ["sasl.password", "ssl.key.pem"] {
        let given = config.clusters["main"].librdkafka[secret].clone();
        again.clusters.get_mut("main").unwrap().librdkafka.insert(secret.to_owned(), given);
    }
    assert_eq!(again, config);
}

#[test]
fn what_is_shown_keeps_a_stale_after_that_follows_each_clusters_own_rhythm() {
    let file = FULL.replace("stale_after = \"12m\"", "");
    let config = of_layers(&file, &[], &[]).unwrap();
    assert_eq!(config.clusters["main"].stale_after.as_secs(), 900);
    assert_eq!(config.clusters["other"].stale_after.as_secs(), 60);
    let again = of_layers(&effective_toml(&config), &[], &[]).unwrap();
    assert_eq!(again.stale_after, config.stale_after);
    assert_eq!(again.clusters["main"].stale_after, config.clusters["main"].stale_after);
    assert_eq!(again.clusters["other"].stale_after, config.clusters["other"].stale_after);
}

#[test]
fn no_print_of_a_configuration_shows_a_secret() {
    let config = of_layers(FULL, &[], &[]).unwrap();
    let printed = format!("{config:?}");
    assert!(printed.contains("<secret>"));
    assert!(!printed.contains("hunter2"));
    let Property::Secret(source) = &config.clusters["main"].librdkafka["sasl.password"] else {
        panic!("a password is a secret")
    };
    assert_eq!(source.read().unwrap().expose(), "hunter2");
}

/// Runs `brinkwatch config` in a folder with this configuration; answers exit code, stdout, stderr.
fn command(file: &str, arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    fs::write(folder.path().join("brinkwatch.toml"), file).expect("the folder is writable");
    let mut command = Command::new(env!("CARGO_BIN_EXE_brinkwatch"));
    command.arg("config").args(arguments).current_dir(folder.path()).env_clear().envs(environment.iter().copied());
    let output = command.output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn config_check_says_valid_or_every_mistake_and_78() {
    let valid = command(FILE, &["check"], &[]);
    assert_eq!(valid, (Some(0), "configuration is valid: 1 cluster, 1 query\n".to_owned(), String::new()));
    let invalid = command(FILE, &["check", "--set", "confirm_polls=0"], &[("BRINKWATCH__LOG__LEVEL", "loud")]);
    let mistakes = "confirm_polls: must be 1 or more (command line)\n\
                    log.level: \"loud\" is not one of \"error\", \"warn\", \"info\", \"debug\", \"trace\" \
                    (environment variable BRINKWATCH__LOG__LEVEL)\n";
    assert_eq!(invalid, (Some(78), String::new(), mistakes.to_owned()));
    let missing = command(FILE, &["check", "--config", "other.toml"], &[]);
    let unreadable = "cannot be read: No such file or directory (os error 2) (other.toml)\n";
    assert_eq!(missing, (Some(78), String::new(), unreadable.to_owned()));
}

#[test]
fn config_show_prints_what_is_in_force() {
    let expected = effective_toml(&of_layers(FULL, &[], &[("log.level", "debug")]).unwrap());
    assert_eq!(command(FULL, &["show", "--set", "log.level=debug"], &[]), (Some(0), expected, String::new()));
}
