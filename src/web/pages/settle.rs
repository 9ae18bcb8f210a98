//! The form that writes down what became of gaps, and what it does when it is sent. It is there only when the server
//! knows who asks: what is written down carries the name.

use axum::extract::{Extension, Form, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use tracing::{info, warn};

use super::fleet::encode;
use super::gaps::range;
use super::row::number;
use crate::ledger::{Gap, RecoveryPath, RecoveryStatus, Settlement};
use crate::measures::with_causes;
use crate::web::WebState;
use crate::web::access::Caller;
use crate::web::words::{counted, spoken};

/// Longer evidence belongs into the ticket that it names.
const LONGEST_EVIDENCE: usize = 1_000;

/// The form for some open gaps.
#[derive(Debug)]
pub(super) struct SettleForm {
    pub(super) label: String,
    /// Each with its number, and what it is.
    pub(super) gaps: Vec<(i64, String)>,
    /// Whether single ones can be left out.
    pub(super) choosing: bool,
    pub(super) paths: Vec<(&'static str, String)>,
    pub(super) statuses: Vec<(&'static str, String)>,
    pub(super) button: String,
}

impl SettleForm {
    /// A form for those that are open and have a number; `None` when there is none.
    pub(super) fn of<'a>(about: &str, gaps: impl IntoIterator<Item = &'a Gap>, choosing: bool) -> Option<Self> {
        let open = gaps.into_iter().filter(|gap| gap.is_open());
        let gaps: Vec<(i64, String)> = open.filter_map(|gap| Some((gap.id?, range(gap)))).collect();
        let settled = RecoveryStatus::ALL.iter().filter(|status| **status != RecoveryStatus::Open);
        (!gaps.is_empty()).then(|| Self {
            label: format!("Settle gaps of {about}"),
            choosing,
            paths: RecoveryPath::ALL.iter().map(|path| (path.word(), spoken(path.word()))).collect(),
            statuses: settled.map(|status| (status.word(), spoken(status.word()))).collect(),
            button: if choosing {
                "Settle those that are ticked".to_owned()
            } else {
                format!("Settle {}", counted(number(gaps.len()), "gap", "gaps"))
            },
            gaps,
        })
    }
}

/// What was filled in.
struct Filled {
    ids: Vec<i64>,
    path: RecoveryPath,
    status: RecoveryStatus,
    evidence: String,
}

impl Filled {
    fn of(fields: &[(String, String)]) -> Result<Self, &'static str> {
        let all = |name: &'static str| fields.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.trim());
        let one = |name: &'static str| all(name).next().unwrap_or_default();
        let ids: Vec<i64> = all("id").map(str::parse).collect::<Result<_, _>>().map_err(|_| "id is a gap's number")?;
        let evidence = one("evidence");
        if ids.is_empty() {
            return Err("no gap was chosen");
        }
        if evidence.is_empty() || evidence.chars().count() > LONGEST_EVIDENCE || evidence.contains(char::is_control) {
            return Err("evidence is required: one line, such as a ticket's name");
        }
        let status = RecoveryStatus::of_word(one("status")).filter(|status| *status != RecoveryStatus::Open);
        Ok(Self {
            ids,
            path: RecoveryPath::of_word(one("path")).ok_or("path is required: how they were dealt with")?,
            status: status.ok_or("status is required: what became of them")?,
            evidence: evidence.to_owned(),
        })
    }
}

/// Settles the gaps of a form that was sent. Nothing is written unless all of them are there and open.
pub(in crate::web) async fn settle(
    State(state): State<WebState>,
    Extension(caller): Extension<Caller>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    let by = match caller {
        Caller::User(name) => name,
        Caller::Token => "bearer token".to_owned(),
        Caller::Anybody => {
            let words = "nobody knows who asks; set users or a token in [server], or use: brinkwatch gaps resolve";
            return say(StatusCode::FORBIDDEN, words);
        }
    };
    let Filled { ids, path, status, evidence } = match Filled::of(&fields) {
        Ok(filled) => filled,
        Err(words) => return say(StatusCode::BAD_REQUEST, words),
    };
    let (Some(ledger), Some(gaps)) = (state.ledger(), state.gaps().await) else {
        return say(StatusCode::SERVICE_UNAVAILABLE, "the ledger does not answer");
    };
    let mut query = "";
    for id in &ids {
        let Some(gap) = gaps.iter().find(|gap| gap.id == Some(*id)) else {
            return say(StatusCode::NOT_FOUND, &format!("there is no gap {id}"));
        };
        if gap.recovery_status != RecoveryStatus::Open {
            let (status, by) = (spoken(gap.recovery_status.word()), &gap.recorded_by);
            return say(StatusCode::CONFLICT, &format!("gap {id} is {status} already; recorded by {by}"));
        }
        query = &gap.stream_name;
    }
    for id in ids {
        let settlement = Settlement { path, status, evidence: evidence.clone(), by: by.clone() };
        if let Err(cause) = ledger.settle(id, settlement).await {
            warn!(gap = id, by, error = with_causes(&cause), "a gap could not be settled");
            return say(
                StatusCode::SERVICE_UNAVAILABLE,
                &format!("gap {id} is not settled: {cause}; the log says why"),
            );
        }
        info!(gap = id, by, status = status.word(), "a gap was settled on a page");
    }
    Redirect::to(&format!("/gaps?q={}", encode(query))).into_response()
}

fn say(status: StatusCode, words: &str) -> Response {
    (status, format!("{words}\n")).into_response()
}
