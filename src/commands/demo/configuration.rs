//! The demo's configuration, as an operator would write it: it goes the way of every other configuration.

use std::net::SocketAddr;
use std::path::Path;

use super::stand_in::RETENTION_BYTES;
use super::story::Story;

/// The text of a configuration file for the daemon.
///
/// The stand-in answers neither topic configuration nor look-ups by time, so the file says what limits the topics.
/// Rounds are quick, since everything in the demo is; yet not so quick that there is no time to look at a torn file
/// again, which a round does a few times before it believes it.
pub(super) fn text(listen: SocketAddr, bootstrap_servers: &str, folder: &Path, stories: &[Story]) -> String {
    let mut text = format!(
        "poll_interval = \"3s\"\n\
         confirm_time = \"6s\"\n\
         \n\
         [server]\n\
         listen = \"{listen}\"\n\
         \n\
         [log]\n\
         level = \"warn\"\n\
         \n\
         [clusters.demo]\n\
         bootstrap_servers = \"{bootstrap_servers}\"\n"
    );
    for story in stories {
        let (query, topic) = (story.query, story.topic);
        let checkpoint = toml::Value::from(folder.join(query).display().to_string());
        text.push_str(&format!(
            "\n\
             [clusters.demo.retention_overrides.\"{topic}\"]\n\
             cleanup_policy = \"delete\"\n\
             retention_ms = -1\n\
             retention_bytes = {RETENTION_BYTES}\n\
             \n\
             [queries.{query}]\n\
             cluster = \"demo\"\n\
             checkpoint = {checkpoint}\n\
             subscribe = \"subscribe\"\n\
             expected_batch_interval = \"10s\"\n\
             partition_metrics = \"all\"\n"
        ));
    }
    text
}
