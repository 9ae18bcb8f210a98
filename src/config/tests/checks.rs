//! What the checks make of a written configuration.

use std::collections::BTreeSet;

use crate::config::{Config, ConfigFile, Property, SecretSource, Threshold, load};

fn of_text(text: &str) -> Config {
    load(ConfigFile::Text { name: "test", text }, [], &[]).unwrap()
}

#[test]
fn nothing_written_is_a_whole_configuration() {
    let config = load(ConfigFile::Absent, [], &[]).unwrap();
    assert_eq!(config.server.listen.to_string(), "0.0.0.0:9917");
    assert_eq!((config.poll_interval.as_secs(), config.stale_after.as_secs()), (30, 90));
    assert_eq!(config.alerts.window.as_secs(), 300);
    assert_eq!(config.alerts.runbook_base_url, None);
    assert!(config.clusters.is_empty() && config.queries.is_empty());
}

#[test]
fn the_window_holds_two_scrapes_and_two_polls_of_the_slowest_cluster() {
    let check = |scrape_interval: &str, poll_interval: &str, expected: u64| {
        let text = format!(
            "[alerts]\nscrape_interval = {scrape_interval:?}\n\
             [clusters.fast]\nbootstrap_servers = \"a\"\n\
             [clusters.slow]\nbootstrap_servers = \"b\"\npoll_interval = {poll_interval:?}"
        );
        assert_eq!(of_text(&text).alerts.window.as_secs(), expected, "{text}");
    };
    check("30s", "30s", 300);
    check("60s", "90s", 300);
    check("60s", "91s", 302);
    check("5m", "10m", 1_800);
}

#[test]
fn the_only_cluster_need_not_be_named() {
    let config = of_text(
        "[clusters.only]\nbootstrap_servers = \"a\"\n[queries.q]\ncheckpoint = \"/q\"\n[queries.q.sources.1]\nkind = \"kafka\"",
    );
    assert_eq!(config.queries["q"].cluster, "only");
    assert_eq!(config.queries["q"].sources["1"].cluster, "only");
}

#[test]
fn two_principals_of_kerberos_are_refused() {
    let problems = |second: &str| {
        let cluster = |name: &str, more: &str| {
            format!(
                "[clusters.{name}]\nbootstrap_servers = \"a\"\n[clusters.{name}.sasl]\nmechanism = \"GSSAPI\"\n\
                 [clusters.{name}.librdkafka]\n{more}\n"
            )
        };
        let text = cluster("one", "sasl_kerberos_principal = \"anna\"") + &cluster("two", second);
        let loaded = load(ConfigFile::Text { name: "test", text: &text }, [], &[]);
        loaded.map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert_eq!(problems("sasl_kerberos_principal = \"anna\""), "");
    let other = problems("sasl_kerberos_principal = \"bert\"");
    assert!(other.contains("clusters.two.librdkafka.sasl_kerberos_principal"), "{other}");
    assert!(other.contains("is another one than \"anna\" of clusters.one"), "{other}");
    // The library's own name, where none is given.
    assert_ne!(problems(""), "");
    let passed_through = |more: &str| {
        let one =
            "[clusters.{}]\nbootstrap_servers = \"a\"\n[clusters.{}.librdkafka]\nsecurity_protocol = \"sasl_ssl\"\n";
        let text = format!(
            "{}{more}\n{}sasl_kerberos_principal = \"bert\"",
            one.replace("{}", "one"),
            one.replace("{}", "two")
        );
        load(ConfigFile::Text { name: "test", text: &text }, [], &[]).is_err()
    };
    assert!(passed_through("") && passed_through("sasl_mechanisms = \"gssapi\""));
    assert!(!passed_through("sasl_mechanism = \"PLAIN\"\nsasl_username = \"a\"\nsasl_password = \"b\""));
    // Tickets that the library gets come by the process's own keytab, whatever stands here.
    assert_eq!(problems("sasl_kerberos_min_time_before_relogin = 0"), "");
}

#[test]
fn a_query_has_its_own_thresholds_over_the_global_ones() {
    let config = of_text(
        "[alerts]\nrisk_warning = 0.6\n[clusters.c]\nbootstrap_servers = \"a\"\n[queries.q]\ncheckpoint = \"/q\"\n\
         [queries.q.alerts]\nrisk_critical = 0.4\nforecast_warning = \"2d\"\n[queries.plain]\ncheckpoint = \"/p\"",
    );
    let own = &config.queries["q"].alerts;
    assert_eq!(own.overridden, BTreeSet::from([Threshold::RiskCritical, Threshold::ForecastWarning]));
    assert_eq!((own.thresholds.risk_warning, own.thresholds.risk_critical), (0.6, 0.4));
    assert_eq!(own.thresholds.forecast_warning.as_secs(), 172_800);
    assert_eq!(own.thresholds.forecast_critical, config.alerts.thresholds.forecast_critical);
    let plain = &config.queries["plain"].alerts;
    assert_eq!((&plain.thresholds, plain.overridden.len()), (&config.alerts.thresholds, 0));
}

#[test]
fn a_property_is_the_same_with_dots_quoted_dots_and_underscores() {
    let check = |line: &str, property: &str, expected: &str| {
        let text = format!("[clusters.c]\nbootstrap_servers = \"a\"\n[clusters.c.librdkafka]\n{line}");
        let config = of_text(&text);
        assert_eq!(config.clusters["c"].librdkafka[property], Property::Plain(expected.to_owned()), "{line}");
        assert_eq!(config.clusters["c"].librdkafka.len(), 1);
    };
    check("socket_timeout_ms = \"10\"", "socket.timeout.ms", "10");
    check("\"socket.timeout.ms\" = 10", "socket.timeout.ms", "10");
    check("socket.timeout.ms = 10", "socket.timeout.ms", "10");
    check("socket_keepalive_enable = true", "socket.keepalive.enable", "true");
    check("log_level = 7", "log_level", "7");
    check("ssl_ca_location = \"/ca\"", "ssl.ca.location", "/ca");
    check(
        "sasl_oauthbearer_assertion_private_key_file = \"/key\"",
        "sasl.oauthbearer.assertion.private.key.file",
        "/key",
    );
}

#[test]
fn secrets_among_the_properties_are_known_by_their_names() {
    let config = of_text(
        "[clusters.c]\nbootstrap_servers = \"a\"\n[clusters.c.librdkafka]\n\
         sasl_password_file = \"/run/password\"\n\"ssl.key.pem\" = \"x\"\nsasl_oauthbearer_client_secret = \"x\"\n\
         ssl_keystore_password = 1\nsasl_username = \"anna\"",
    );
    let properties = &config.clusters["c"].librdkafka;
    assert_eq!(properties["sasl.password"], Property::Secret(SecretSource::File("/run/password".into())));
    for name in ["ssl.key.pem", "sasl.oauthbearer.client.secret", "ssl.keystore.password"] {
        assert!(matches!(properties[name], Property::Secret(SecretSource::Given(_))), "{name}");
    }
    assert_eq!(properties["sasl.username"], Property::Plain("anna".to_owned()));
    assert_eq!(properties.len(), 5);
}
