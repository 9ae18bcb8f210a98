//! From a file's text to a scenario, strictly: the first mistake is told with its line, its key and the reason.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::json::{Fields, Node};
use super::kafka::{change, error_in, unread};
use super::mistake::ScenarioError;
use super::scenario::{Acknowledgement, File, Files, KafkaChange, Restart, Scenario, Setting, Step};
use crate::measures::Moment;

/// The only version there is.
const VERSION: i64 = 1;

/// Reads a scenario.
///
/// # Errors
/// The first mistake in it.
pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    let document = Node::document(text)?;
    let mut fields = document.fields()?;
    let version = fields.need("brinkwatch_scenario")?;
    if version.whole()? != VERSION {
        return Err(version.wrong(format!("only version {VERSION} is known")));
    }
    let about = fields.take("about").map(|node| node.text()).transpose()?.unwrap_or_default();
    let mut configuration = Vec::new();
    if let Some(node) = fields.take("configuration") {
        settings(&node, "", &mut configuration)?;
    }
    let list = fields.need("steps")?;
    fields.finish()?;
    let mut steps: Vec<Step> = Vec::new();
    let mut several = None;
    for node in list.items()? {
        let step = step(&node, steps.last().map(|step| step.at), &mut several)?;
        steps.push(step);
    }
    if steps.is_empty() {
        return Err(list.wrong("must hold at least one step"));
    }
    Ok(Scenario { about, configuration, several: several.unwrap_or(false), steps })
}

/// Tables within become keys with dots.
fn settings(node: &Node<'_>, above: &str, into: &mut Vec<Setting>) -> Result<(), ScenarioError> {
    for (name, node) in node.entries()? {
        let key = format!("{above}{name}");
        if node.is_object() {
            settings(&node, &format!("{key}."), into)?;
            continue;
        }
        let value = if node.raw().starts_with('"') { node.text()? } else { node.raw().to_owned() };
        if node.is_null() || value.starts_with('[') {
            return Err(node.wrong("must be a text, a number, true or false"));
        }
        into.push(Setting { key, value, line: node.line() });
    }
    Ok(())
}

fn step(node: &Node<'_>, before: Option<Moment>, several: &mut Option<bool>) -> Result<Step, ScenarioError> {
    let mut fields = node.fields()?;
    let time = fields.need("at")?;
    let at = time.moment()?;
    if before.is_some_and(|before| before >= at) {
        return Err(time.wrong("must be later than the step before"));
    }
    let flag = |node: Option<Node<'_>>| node.map(|node| node.flag()).transpose().map(Option::unwrap_or_default);
    let failure = |node: Option<Node<'_>>| node.map(|node| unread(&node)).transpose();
    let step = Step {
        at,
        restart: fields.take("restart").map(|node| restart(&node)).transpose()?,
        acknowledge: acknowledgements(fields.take("acknowledge"))?,
        checkpoint_reset: flag(fields.take("checkpoint_reset"))?,
        checkpoints: checkpoints(&mut fields, several)?,
        checkpoint_again: fields.take("checkpoint_again").map(|node| files(&node)).transpose()?.unwrap_or_default(),
        checkpoint_error: failure(fields.take("checkpoint_error"))?,
        kafka_reset: flag(fields.take("kafka_reset"))?,
        kafka: fields.take("kafka").map_or_else(|| Ok(KafkaChange::default()), |node| change(&node))?,
        kafka_again: fields.take("kafka_again").map(|node| change(&node)).transpose()?,
        kafka_error: failure(fields.take("kafka_error"))?,
    };
    fields.finish()?;
    Ok(step)
}

fn restart(node: &Node<'_>) -> Result<Restart, ScenarioError> {
    match node.text()?.as_str() {
        "with_ledger" => Ok(Restart::WithLedger),
        "without_ledger" => Ok(Restart::WithoutLedger),
        _ => Err(node.wrong("must be \"with_ledger\" or \"without_ledger\"")),
    }
}

/// `orders/0` is one partition, `orders` a topic, `*` everything.
fn acknowledgements(node: Option<Node<'_>>) -> Result<Vec<Acknowledgement>, ScenarioError> {
    let mut found = Vec::new();
    for node in node.map(|node| node.items()).transpose()?.unwrap_or_default() {
        let text = node.text()?;
        let (topic, partition) = match text.split_once('/') {
            None => (text.as_str(), None),
            Some((topic, partition)) => {
                let number = partition.parse().map_err(|_| node.wrong("is no partition such as \"orders/0\""))?;
                (topic, Some(number))
            }
        };
        let topic = (topic != "*").then(|| topic.to_owned());
        found.push(Acknowledgement { topic, partition });
    }
    Ok(found)
}

fn checkpoints(fields: &mut Fields<'_>, several: &mut Option<bool>) -> Result<BTreeMap<String, Files>, ScenarioError> {
    let mut found = BTreeMap::new();
    for (name, is_several) in [("checkpoint", false), ("checkpoints", true)] {
        let Some(node) = fields.take(name) else { continue };
        if *several.get_or_insert(is_several) != is_several {
            return Err(node.wrong("a scenario has either one \"checkpoint\" or several \"checkpoints\""));
        }
        if is_several {
            for (name, node) in node.entries()? {
                found.insert(name, files(&node)?);
            }
        } else {
            found.insert(String::new(), files(&node)?);
        }
    }
    Ok(found)
}

fn files(node: &Node<'_>) -> Result<Files, ScenarioError> {
    let mut found = Files::new();
    for (path, node) in node.entries()? {
        let relative = !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !relative {
            return Err(node.wrong("is no path inside a checkpoint"));
        }
        let file = if node.is_null() { None } else { Some(file(&node)?) };
        found.insert(path, file);
    }
    Ok(found)
}

fn file(node: &Node<'_>) -> Result<File, ScenarioError> {
    if let Some(error) = error_in(node)? {
        return Ok(File::Unread(error));
    }
    let mut fields = node.fields()?;
    let modified = fields.take("modified").map(|node| node.moment()).transpose()?;
    let bytes = match (fields.take("text"), fields.take("base64")) {
        (Some(text), None) => text.text()?.into_bytes(),
        (None, Some(coded)) => {
            STANDARD.decode(coded.text()?).map_err(|error| coded.wrong(format!("is not base64: {error}")))?
        }
        _ => return Err(node.wrong("must hold either \"text\" or \"base64\"")),
    };
    fields.finish()?;
    Ok(File::There { bytes, modified })
}
