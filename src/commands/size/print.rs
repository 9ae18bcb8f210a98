//! The answer of `size` in each form.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::commands::output::{Align, OutputFormat, Rows, printable};
use crate::recovery::{Keeps, Sized, word};
use crate::retention::{Limit, Policy, Ruling, SetBy};
use crate::rounds::QueryTarget;

/// Raised when a field changes its meaning or goes away.
const VERSION: u32 = 1;

/// One topic of one query.
pub(super) struct Row {
    pub query: String,
    pub kafka_cluster: String,
    pub topic: String,
    pub outage: Duration,
    pub policy: Policy,
    /// Who set `retention.ms` and `retention.bytes`.
    pub set_by: [Option<SetBy>; 2],
    pub answer: Result<Sized, String>,
    pub from_now: Option<Keeps>,
}

impl Row {
    pub(super) fn unread(query: &QueryTarget, cluster: &str, topic: &str, why: String) -> Self {
        Self {
            query: query.name.clone(),
            kafka_cluster: cluster.to_owned(),
            topic: topic.to_owned(),
            outage: query.settings.max_outage,
            policy: Policy::UNKNOWN,
            set_by: [None; 2],
            answer: Err(why),
            from_now: None,
        }
    }

    /// What does not survive first, then what cannot be told, then what could be down for the shortest time.
    pub(super) fn tightness(&self) -> (u8, Duration) {
        let place = match self.answer.as_ref().ok().and_then(|sized| sized.survives) {
            Some(false) => 0,
            None => 1,
            Some(true) => 2,
        };
        let left = match self.from_now {
            Some(Keeps::For(left) | Keeps::AtLeast(left)) => left,
            Some(Keeps::ForEver) => Duration::MAX,
            Some(Keeps::Unknown) | None => Duration::ZERO,
        };
        (place, left)
    }
}

pub(super) fn write(rows: &[Row], output: OutputFormat, out: &mut dyn Write) -> anyhow::Result<()> {
    match output {
        OutputFormat::Json => {
            let answers: Vec<Value> = rows.iter().map(document).collect();
            serde_json::to_writer_pretty(&mut *out, &json!({"version": VERSION, "topics": answers}))?;
            writeln!(out)?;
        }
        OutputFormat::Csv => table(rows).write_csv(out)?,
        OutputFormat::Markdown => {
            table(rows).write_markdown(out)?;
            words(rows, out)?;
        }
        OutputFormat::Table => {
            table(rows).write_table(out)?;
            words(rows, out)?;
        }
    }
    Ok(())
}

fn document(row: &Row) -> Value {
    let sized = row.answer.as_ref().ok();
    json!({
        "query": row.query,
        "kafka_cluster": row.kafka_cluster,
        "topic": row.topic,
        "outage_seconds": row.outage.as_secs(),
        "retention_ms": limit(row.policy.time, |time| json!(u64::try_from(time.as_millis()).ok())),
        "retention_ms_set_by": row.set_by[0].map(SetBy::label),
        "retention_bytes": limit(row.policy.size, |bytes| json!(bytes)),
        "retention_bytes_set_by": row.set_by[1].map(SetBy::label),
        "limit": sized.map(|sized| sized.ruling.label()),
        "offsets_per_second": sized.and_then(|sized| sized.rate),
        "kept_by_time": sized.map_or(Value::Null, |sized| keeps(sized.by_time)),
        "kept_by_size": sized.map_or(Value::Null, |sized| keeps(sized.by_size)),
        "survives": sized.and_then(|sized| sized.survives),
        "needs_retention_ms": sized.and_then(|sized| sized.needs_ms),
        "needs_retention_bytes": sized.and_then(|sized| sized.needs_bytes),
        "could_be_down_from_now": row.from_now.map_or(Value::Null, keeps),
        "unread": row.answer.as_ref().err(),
    })
}

fn limit<T>(limit: Limit<T>, at: impl Fn(T) -> Value) -> Value {
    match limit {
        Limit::Unknown => Value::Null,
        Limit::Unlimited => json!("never"),
        Limit::At(limit) => at(limit),
    }
}

fn keeps(keeps: Keeps) -> Value {
    match keeps {
        Keeps::Unknown => Value::Null,
        Keeps::ForEver => json!("never"),
        Keeps::For(length) => json!({"seconds": length.as_secs(), "at_least": false}),
        Keeps::AtLeast(length) => json!({"seconds": length.as_secs(), "at_least": true}),
    }
}

fn table(rows: &[Row]) -> Rows {
    let mut table = Rows::new(&[
        ("query", Align::Left),
        ("topic", Align::Left),
        ("outage", Align::Right),
        ("survives", Align::Left),
        ("limit", Align::Left),
        ("kept by time", Align::Right),
        ("kept by size", Align::Right),
        ("needs retention.ms", Align::Right),
        ("needs retention.bytes", Align::Right),
        ("offsets/s", Align::Right),
        ("from now", Align::Right),
    ]);
    for row in rows {
        let sized = row.answer.as_ref().ok();
        let survives = match sized.and_then(|sized| sized.survives) {
            Some(true) => "yes",
            Some(false) => "no",
            None => "cannot tell",
        };
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        table.push(vec![
            row.query.clone(),
            row.topic.clone(),
            length(row.outage),
            survives.to_owned(),
            sized.map_or("", |sized| sized.ruling.label()).to_owned(),
            sized.map(|sized| spoken(sized.by_time)).unwrap_or_default(),
            sized.map(|sized| spoken(sized.by_size)).unwrap_or_default(),
            number(sized.and_then(|sized| sized.needs_ms)),
            number(sized.and_then(|sized| sized.needs_bytes)),
            sized.and_then(|sized| sized.rate).map(|rate| format!("{rate:.1}")).unwrap_or_default(),
            row.from_now.map(spoken).unwrap_or_default(),
        ]);
    }
    table
}

fn length(length: Duration) -> String {
    humantime::format_duration(Duration::from_secs(length.as_secs())).to_string()
}

fn spoken(keeps: Keeps) -> String {
    match keeps {
        Keeps::Unknown => String::new(),
        Keeps::ForEver => "for ever".to_owned(),
        Keeps::For(time) => length(time),
        Keeps::AtLeast(time) => format!("at least {}", length(time)),
    }
}

fn words(rows: &[Row], out: &mut dyn Write) -> std::io::Result<()> {
    for row in rows {
        let sized = match &row.answer {
            Ok(sized) => sized,
            Err(why) => {
                writeln!(out, "{}: {}: {}", row.query, row.topic, printable(why))?;
                continue;
            }
        };
        if sized.survives == Some(true) {
            continue;
        }
        let what = match sized.survives {
            Some(false) => "does not survive",
            _ => "cannot be told to survive",
        };
        writeln!(out, "\n{}: {} {what} an outage of {}", row.query, printable(&row.topic), length(row.outage))?;
        let ms =
            sized.needs_ms.filter(|_| too_short(sized.by_time, sized.survives)).map(|ms| format!("retention.ms={ms}"));
        let bytes = sized.needs_bytes.map(|bytes| format!("retention.bytes={bytes}"));
        let settings: Vec<String> = ms.into_iter().chain(bytes).collect();
        if settings.is_empty() {
            let why = match sized.ruling {
                Ruling::Unknown => "a limit is not known, or was never seen at work: give --record-bytes",
                _ => "nothing tells which retention would",
            };
            writeln!(out, "  {why}")?;
        } else {
            let topic = word(&row.topic);
            writeln!(
                out,
                "  it needs at least {}; it is Kafka's own command that changes it:",
                settings.join(" and ")
            )?;
            writeln!(
                out,
                "  $ kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name {topic} \
                 --add-config {}",
                settings.join(",")
            )?;
        }
    }
    Ok(())
}

/// Only what is too tight is to be changed.
const fn too_short(keeps: Keeps, survives: Option<bool>) -> bool {
    matches!(keeps, Keeps::For(_)) && !matches!(survives, Some(true))
}
