//! One loss is one record, however often it is seen.

use super::gap::Gap;
use crate::judgement::Certainty;

/// The records of one log with one more finding in them: sorted, and no offset in two of them.
///
/// What a record has already is not recorded again, whoever settled it in the meantime. A certain finding makes those
/// parts of open possible records certain that it covers. Open neighbours of equal certainty become one record, which
/// keeps the number and the time of the older one.
#[must_use]
pub fn merged(records: Vec<Gap>, found: &Gap) -> Vec<Gap> {
    let mut result: Vec<Gap> = missing_parts(&records, found);
    for record in records {
        let turns = found.certainty == Certainty::Certain
            && record.certainty == Certainty::Possible
            && record.is_open()
            && record.from < found.to
            && found.from < record.to;
        if turns { result.extend(turned(record, found)) } else { result.push(record) }
    }
    result.sort_by_key(|gap| gap.from);
    let mut joined: Vec<Gap> = Vec::with_capacity(result.len());
    for gap in result {
        match joined.last_mut() {
            Some(last) if joins(last, &gap) => *last = join(last.clone(), gap),
            _ => joined.push(gap),
        }
    }
    joined
}

/// Those parts of the finding that no record has.
fn missing_parts(records: &[Gap], found: &Gap) -> Vec<Gap> {
    let mut known: Vec<(i64, i64)> = records.iter().map(|record| (record.from, record.to)).collect();
    known.sort_unstable();
    let mut parts = Vec::new();
    let mut from = found.from;
    for (begin, end) in known {
        if begin > from && from < found.to {
            parts.push(Gap { id: None, from, to: begin.min(found.to), ..found.clone() });
        }
        from = from.max(end);
    }
    if from < found.to {
        parts.push(Gap { id: None, from, ..found.clone() });
    }
    parts
}

/// A possible record, cut where the finding makes it certain. The number stays with the certain part: that is the one
/// people will be asked about.
fn turned(record: Gap, found: &Gap) -> Vec<Gap> {
    let (from, to) = (record.from.max(found.from), record.to.min(found.to));
    let before = Gap { id: None, to: from, ..record.clone() };
    let after = Gap { id: None, from: to, ..record.clone() };
    let certain = Gap { from, to, certainty: Certainty::Certain, evidence: found.evidence.clone(), ..record };
    [before, certain, after].into_iter().filter(|gap| gap.from < gap.to).collect()
}

fn joins(left: &Gap, right: &Gap) -> bool {
    let open = |gap: &Gap| gap.is_open();
    left.to >= right.from && left.certainty == right.certainty && open(left) && open(right)
}

fn join(left: Gap, right: Gap) -> Gap {
    let (from, to) = (left.from, left.to.max(right.to));
    let (first, last) = (left.first_missing_at, right.last_missing_at);
    // A record without a number is the newer one.
    let older = match (left.id, right.id) {
        (Some(one), Some(other)) if other < one => right,
        (None, Some(_)) => right,
        _ => left,
    };
    Gap { from, to, first_missing_at: first, last_missing_at: last, ..older }
}
