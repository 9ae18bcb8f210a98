//! The heat strip: every partition of a large topic as one cell, by its number.

use super::tone::Tone;
use crate::web::words::{count, counted};

/// With more cells than this, one cell stands for the worst of ten neighbours.
const CELLS: usize = 10_000;
/// Cells on a line.
const A_LINE: usize = 100;

/// All cells, as one path for each tone.
#[derive(Debug)]
pub(super) struct Heat {
    pub(super) about: String,
    pub(super) label: String,
    pub(super) view: String,
    pub(super) height: usize,
    pub(super) paths: Vec<(&'static str, String)>,
    pub(super) key: Vec<Key>,
}

/// What a cell's look means, and how many partitions have it.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) class: &'static str,
    pub(super) inset: u8,
    pub(super) side: u8,
    pub(super) text: String,
}

/// Cells that are worse are larger; what is unknown is hollow.
const LOOKS: [(Tone, &str, f64, u8); 4] = [
    (Tone::Critical, "now", 0.02, 0),
    (Tone::Warning, "soon", 0.15, 2),
    (Tone::Unknown, "none", 0.22, 3),
    (Tone::Good, "safe", 0.3, 4),
];

/// Draws partitions in the order of their numbers.
pub(super) fn draw(partitions: &[(i32, Tone)], warning: &str, critical: &str) -> Heat {
    let size = if partitions.len() > CELLS { 10 } else { 1 };
    let cells: Vec<Tone> =
        partitions.chunks(size).filter_map(|chunk| chunk.iter().map(|(_, tone)| *tone).min()).collect();
    let lines = cells.len().div_ceil(A_LINE).max(1);
    let columns = cells.len().clamp(50, A_LINE);
    let mut paths: Vec<(&'static str, String)> = Vec::new();
    let mut key = Vec::new();
    let mut told = Vec::new();
    for (tone, class, inset, key_inset) in LOOKS {
        let numbers: Vec<i32> =
            partitions.iter().filter(|(_, each)| *each == tone).map(|(number, _)| *number).collect();
        if numbers.is_empty() {
            continue;
        }
        let side = format!("{:.2}", 1.0 - 2.0 * inset);
        let mut path = String::new();
        for place in cells.iter().enumerate().filter(|(_, each)| **each == tone).map(|(place, _)| place) {
            path.push_str(&format!(
                "M{}{} {}{}h{side}v{side}h-{side}z",
                place % A_LINE,
                decimals(inset),
                place / A_LINE,
                decimals(inset)
            ));
        }
        if !path.is_empty() {
            paths.push((class, path));
        }
        let many = count(super::row::number(numbers.len()));
        let text = match tone {
            Tone::Critical => format!("lost, or below {critical} %: {many}"),
            Tone::Warning => format!("below {warning} %: {many}"),
            Tone::Unknown => format!("unknown: {many}"),
            Tone::Good => format!("above: {many}"),
        };
        told.push(if tone == Tone::Good { text.clone() } else { format!("{text}{}", which(&numbers)) });
        key.push(Key { class, inset: key_inset, side: 14 - 2 * key_inset, text });
    }
    let each = if size == 1 { "Every partition" } else { "Every ten partitions, as the worst of them," };
    Heat {
        about: format!("{each} by remaining retention, {A_LINE} a line, 0 top left."),
        label: format!(
            "{}: {}",
            counted(super::row::number(partitions.len()), "partition", "partitions"),
            told.join(", ")
        ),
        view: format!("0 0 {columns} {lines}"),
        height: lines * 12,
        paths,
        key,
    }
}

/// `0.02` as it stands behind a whole number: `.02`; nothing for zero.
fn decimals(inset: f64) -> String {
    format!("{inset:.2}").trim_start_matches('0').to_owned()
}

/// The numbers where they are few.
fn which(numbers: &[i32]) -> String {
    if numbers.len() > 10 {
        return String::new();
    }
    let names: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!(" ({})", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(count: i32, worse: &[(i32, Tone)]) -> Heat {
        let tone = |number| worse.iter().find(|(at, _)| *at == number).map_or(Tone::Good, |(_, tone)| *tone);
        draw(&(0..count).map(|number| (number, tone(number))).collect::<Vec<_>>(), "50", "20")
    }

    #[test]
    fn each_partition_has_its_cell_and_each_tone_its_path() {
        let heat = strip(2_000, &[(1_377, Tone::Critical), (812, Tone::Unknown)]);
        let cells = |class: &str| {
            heat.paths.iter().find(|(each, _)| *each == class).map_or(0, |(_, path)| path.matches('M').count())
        };
        assert_eq!((cells("now"), cells("soon"), cells("none"), cells("safe")), (1, 0, 1, 1_998));
        assert_eq!(heat.view, "0 0 100 20");
        assert_eq!(heat.paths[0].1, "M77.02 13.02h0.96v0.96h-0.96z");
        assert_eq!(heat.label, "2,000 partitions: lost, or below 20 %: 1 (1377), unknown: 1 (812), above: 1,998");
    }

    #[test]
    fn beyond_ten_thousand_a_cell_is_the_worst_of_ten() {
        let heat = strip(20_000, &[(19_999, Tone::Critical)]);
        let cells: usize = heat.paths.iter().map(|(_, path)| path.matches('M').count()).sum();
        assert_eq!(cells, 2_000);
        assert!(heat.paths.iter().any(|(class, path)| *class == "now" && path.matches('M').count() == 1));
        assert!(heat.about.contains("worst of them"), "{}", heat.about);
    }
}
