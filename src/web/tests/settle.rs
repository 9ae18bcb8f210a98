//! Settling gaps by the forms of the pages.

use super::access::{basic, users, with_token};
use super::*;
use crate::ledger::{DatabaseLedger, Gap, RecoveryPath, RecoveryStatus};

const ANNA: &str = "anna:pass:word";

/// With a ledger in a file, since only its records have numbers, and two open gaps: 1 and 2.
fn keeping(folder: &std::path::Path, settings: AccessSettings) -> Served {
    let served = Served::over(|runtime| {
        let opened = runtime.block_on(DatabaseLedger::open(folder.join("state").as_path())).unwrap();
        runtime.spawn(opened.writer);
        Arc::new(opened.ledger)
    });
    served.change(Access::new(settings).unwrap());
    served.board.publish(fixture::round());
    served.note_gap(3, 100, 200);
    served.note_gap(5, 300, 350);
    served
}

impl Served {
    fn send(&self, headers: &[(&str, &str)], form: &str) -> Answer {
        let agent = ureq::Agent::new_with_config(
            ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).build(),
        );
        let mut request = agent.post(format!("http://{}/gaps/settle", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer = request.content_type("application/x-www-form-urlencoded").send(form).unwrap();
        let mut body = Vec::new();
        answer.body_mut().as_reader().read_to_end(&mut body).unwrap();
        Answer { status: answer.status().as_u16(), headers: answer.headers().clone(), body }
    }

    fn gap(&self, id: i64) -> Gap {
        let gaps = self.runtime.as_ref().unwrap().block_on(self.ledger.gaps()).unwrap();
        gaps.into_iter().find(|gap| gap.id == Some(id)).unwrap()
    }
}

fn of_users() -> AccessSettings {
    AccessSettings { users: users(), ..AccessSettings::default() }
}

#[test]
fn a_gap_is_settled_in_the_name_of_who_logged_in() {
    let folder = tempfile::tempdir().unwrap();
    let served = keeping(folder.path(), of_users());
    let anna = basic(ANNA);
    let anna = [("authorization", anna.as_str())];
    let answer = served.send(&anna, "id=1&path=new_checkpoint&status=replayed&evidence=INC-4711+%26+more");
    assert_eq!((answer.status, answer.header("location")), (303, "/gaps?q=orders-enriched"), "{}", answer.text());
    let gap = served.gap(1);
    assert_eq!(gap.recovery_status, RecoveryStatus::Replayed);
    assert_eq!(gap.recovery_path, Some(RecoveryPath::NewCheckpoint));
    assert_eq!(gap.evidence, "earliest passed the committed offset; INC-4711 & more");
    assert_eq!(gap.recorded_by, "anna");
    assert_eq!(served.gap(2).recovery_status, RecoveryStatus::Open);
    let again = served.send(&anna, "id=2&id=1&path=accept_gap&status=accepted&evidence=x");
    assert_eq!((again.status, again.text()), (409, "gap 1 is replayed already; recorded by anna\n".to_owned()));
    assert_eq!(served.gap(2).recovery_status, RecoveryStatus::Open, "all or none");
}

#[test]
fn several_are_settled_at_once_and_a_token_is_a_name_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let served = keeping(folder.path(), with_token(folder.path()));
    let token = [("authorization", "Bearer s3cret")];
    assert_eq!(served.send(&token, "id=1&id=2&path=accept_gap&status=accepted&evidence=x").status, 303);
    for id in [1, 2] {
        assert_eq!(served.gap(id).recorded_by, "bearer token");
        assert_eq!(served.gap(id).recovery_status, RecoveryStatus::Accepted);
    }
}

#[test]
fn what_makes_no_sense_or_comes_from_elsewhere_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let served = keeping(folder.path(), of_users());
    let anna = basic(ANNA);
    let good = "id=1&path=accept_gap&status=accepted&evidence=x";
    let check = |headers: &[(&str, &str)], form: &str, status: u16, words: &str| {
        let answer = served.send(&[&[("authorization", anna.as_str())], headers].concat(), form);
        assert_eq!(answer.status, status, "{headers:?} {form}");
        assert!(answer.text().contains(words), "{headers:?} {form}: {}", answer.text());
    };
    check(&[], "", 400, "no gap was chosen");
    check(&[], "id=one&path=accept_gap&status=accepted&evidence=x", 400, "id is a gap's number");
    check(&[], "id=1&path=accept_gap&status=accepted&evidence=+", 400, "evidence is required");
    check(&[], "id=1&path=accept_gap&status=accepted&evidence=a%0Ab", 400, "evidence is required: one line");
    check(&[], &format!("id=1&path=accept_gap&status=accepted&evidence={}", "x".repeat(1_001)), 400, "evidence");
    check(&[], "id=1&path=&status=accepted&evidence=x", 400, "path is required");
    check(&[], "id=1&path=accept_gap&status=open&evidence=x", 400, "status is required");
    check(&[], "id=1&path=accept_gap&evidence=x", 400, "status is required");
    check(&[], "id=7&path=accept_gap&status=accepted&evidence=x", 404, "there is no gap 7");
    check(&[], &format!("id=1&evidence={}", "x".repeat(300_000)), 413, "");
    check(&[("sec-fetch-site", "cross-site")], good, 403, "another site");
    check(&[("sec-fetch-site", "same-site")], good, 403, "another site");
    check(&[("origin", "http://evil.example")], good, 403, "another site");
    check(&[("origin", "null")], good, 403, "another site");
    assert_eq!(served.send(&[], good).status, 401);
    assert_eq!(served.send(&[("authorization", "Basic YW5uYTp4")], good).status, 401);
    assert_eq!(served.as_who("GET", "/gaps/settle", &[&anna]).status, 405);
    assert_eq!(served.gap(1).recovery_status, RecoveryStatus::Open);
    let own = format!("http://{}", served.address);
    check(&[("origin", &own), ("sec-fetch-site", "same-origin")], good, 303, "");
}

#[test]
fn forms_stand_on_the_pages_where_somebody_is_known_and_commands_where_nobody_is() {
    let folder = tempfile::tempdir().unwrap();
    let served = keeping(folder.path(), of_users());
    let anna = basic(ANNA);
    for (path, label) in [
        ("/gaps", "aria-label=\"Settle gaps of orders-enriched, orders\""),
        ("/queries/orders-enriched", "aria-label=\"Settle gaps of orders-enriched\""),
    ] {
        let page = served.as_who("GET", path, &[&anna]).text();
        for said in
            [label, "action=\"/gaps/settle\"", "name=\"id\" value=\"1\"", "name=\"id\" value=\"2\"", "new_checkpoint"]
        {
            assert!(page.contains(said), "{path}: {said}\n{page}");
        }
        assert!(!page.contains("<option value=\"open\""), "{path}");
    }
    served.change(Access::default());
    let page = served.get("/gaps").text();
    assert!(!page.contains("/gaps/settle") && page.contains("<span>resolve</span>"), "{page}");
    assert!(!served.get("/queries/orders-enriched").text().contains("/gaps/settle"));
    let answer = served.send(&[], "id=1&path=accept_gap&status=accepted&evidence=x");
    assert!(answer.status == 403 && answer.text().contains("brinkwatch gaps resolve"), "{}", answer.text());
}
