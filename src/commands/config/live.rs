//! `config check --live`: each checkpoint is read and each cluster asked, once, and what is wrong is said in words.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use anyhow::Context;

use super::finding::{Grade, Topic};
use crate::commands::look::{hurry, look};
use crate::commands::output::{Align, Rows};
use crate::commands::{Ended, ledger, remembered};
use crate::config::Config;
use crate::daemon::{LookedThrough, cluster_targets, with_found};
use crate::judgement::{QueryState, QueryVerdict};
use crate::measures::{Reason, TopicName, Unread};
use crate::process::exit_code::ExitCode;
use crate::retention::Demand;
use crate::rounds::{CheckpointPoll, ClusterTarget, Found, QueryTarget};

const COLUMNS: [(&str, Align); 5] = [
    ("result", Align::Left),
    ("query", Align::Left),
    ("cluster", Align::Left),
    ("topic", Align::Left),
    ("finding", Align::Left),
];

/// What is said of a checkpoint, a cluster, or a topic of both.
#[derive(Debug)]
struct Line {
    grade: Grade,
    query: String,
    cluster: String,
    topic: String,
    finding: String,
}

impl Line {
    fn of_cluster(grade: Grade, cluster: &str, finding: String) -> Self {
        Self { grade, query: String::new(), cluster: cluster.to_owned(), topic: String::new(), finding }
    }
}

/// Looks, writes a line for everything that was looked at, worst first, and returns the exit code.
///
/// # Errors
/// When something that is configured cannot be built, or the answer cannot be written.
pub(super) async fn run(config: Config, timeout: Duration, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let LookedThrough { config, unread, empty } =
        with_found(config, timeout).await.with_context(Ended::unobtainable)?;
    let mut targets = cluster_targets(&config).with_context(Ended::unobtainable)?;
    hurry(&mut targets);
    let place = ledger::place(&config)?;
    let looks = targets.iter().map(|target| async {
        let state = remembered::state(place.as_ref(), target).await?;
        anyhow::Ok(look(target, state, timeout).await)
    });
    let found = futures::future::try_join_all(looks).await?;
    let mut lines: Vec<Line> = unread.iter().map(|(discovery, why)| not_looked_through(discovery, why)).collect();
    lines.extend(empty.iter().map(|discovery| holds_nothing(discovery)));
    lines.extend(targets.iter().zip(&found).flat_map(|(target, found)| of_cluster(target, found)));
    lines.sort_by_key(|line| line.grade);
    write(&lines, out)?;
    Ok(match lines.first().map(|line| line.grade) {
        Some(Grade::NotRead) => ExitCode::NotRead,
        Some(Grade::Wrong) => ExitCode::Finding,
        Some(Grade::Unsure | Grade::Fine) | None => ExitCode::Fine,
    })
}

fn write(lines: &[Line], out: &mut dyn Write) -> std::io::Result<()> {
    if lines.is_empty() {
        return writeln!(out, "nothing is configured that could be asked");
    }
    let mut rows = Rows::new(&COLUMNS);
    for Line { grade, query, cluster, topic, finding } in lines {
        let cells = [grade.label(), query, cluster, topic, finding];
        rows.push(cells.map(str::to_owned).to_vec());
    }
    writeln!(out)?;
    rows.write_table(out)
}

fn not_looked_through(discovery: &str, why: &Unread) -> Line {
    let finding = format!("discovery.{discovery}.location was not looked through, there may be more queries: {why}");
    Line::of_cluster(Grade::NotRead, "", finding)
}

fn holds_nothing(discovery: &str) -> Line {
    let finding = format!("below discovery.{discovery}.location there is no checkpoint: is it the right place?");
    Line::of_cluster(Grade::Wrong, "", finding)
}

fn of_cluster(target: &ClusterTarget, found: &Found) -> Vec<Line> {
    let mut lines = Vec::new();
    match &found.cluster {
        Ok(_) if target.queries.is_empty() => {
            lines.push(Line::of_cluster(Grade::Fine, &target.name, "it answers; no query reads it".to_owned()));
        }
        Ok(_) => {}
        Err(unread) => {
            let finding = format!("the cluster was not read: {unread}");
            lines.push(Line::of_cluster(Grade::NotRead, &target.name, finding));
        }
    }
    for ((query, poll), verdict) in target.queries.iter().zip(&found.checkpoints).zip(&found.verdicts) {
        lines.extend(of_query(target, query, found, poll, verdict));
    }
    lines
}

fn of_query(
    target: &ClusterTarget,
    query: &QueryTarget,
    found: &Found,
    poll: &CheckpointPoll,
    verdict: &QueryVerdict,
) -> Vec<Line> {
    let line = |grade, topic: &str, finding| Line {
        grade,
        query: query.name.clone(),
        cluster: target.name.clone(),
        topic: topic.to_owned(),
        finding,
    };
    if verdict.state == QueryState::Superseded {
        return vec![line(Grade::Fine, "", format!("nothing is asked of it: {}", verdict.reason))];
    }
    let reading = match &poll.outcome {
        Ok(reading) => reading,
        Err(unread) => return vec![line(Grade::NotRead, "", checkpoint_unread(query, unread))],
    };
    let topics: BTreeSet<&TopicName> = reading.sources.iter().flat_map(|source| source.topics.keys()).collect();
    if topics.is_empty() {
        let finding = "its checkpoint was read, and names no topic of this cluster so far".to_owned();
        return vec![line(Grade::Unsure, "", finding)];
    }
    let Ok(cluster) = &found.cluster else {
        let names = topics.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ");
        let finding = format!("its checkpoint was read, and names {names}; the cluster was not read");
        return vec![line(Grade::NotRead, "", finding)];
    };
    let demand = Demand {
        poll_interval: target.poll_interval,
        max_outage: query.settings.max_outage,
        expected_interval: verdict.expected_interval,
    };
    let of_topic = |name| {
        let topic = Topic {
            query: &query.name,
            cluster: &target.name,
            name,
            sight: cluster.topics.get(name),
            missing_rights: &cluster.missing_rights,
            kept_seconds: verdict.topics.get(name).and_then(|topic| topic.retention_seconds),
            demand,
        };
        let (grade, finding) = topic.finding();
        line(grade, name, finding)
    };
    topics.into_iter().map(of_topic).collect()
}

fn checkpoint_unread(query: &QueryTarget, unread: &Unread) -> String {
    let location = query.checkpoint.location();
    match unread.reason {
        Reason::NotFound => {
            format!("there is no checkpoint at {location}: correct the location, or start the query")
        }
        Reason::Denied => format!("the right to list and read {location} is missing ({})", unread.detail),
        _ => format!("the checkpoint at {location} was not read: {unread}"),
    }
}
