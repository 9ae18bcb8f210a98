//! Where tests keep ledgers: in a file, and in PostgreSQL where a server is named. The system tests name one, and look
//! that every check ran there as well.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{Connection, Executor, PgConnection};
use tempfile::tempdir;

use crate::ledger::writer::Writer;
use crate::ledger::{Place, Server};

/// The URL of a database in which tests may make schemas.
const NAMED: &str = "BRINKWATCH_TEST_POSTGRES";

/// Runs a check over an empty ledger of each kind.
pub(super) async fn everywhere(check: impl AsyncFn(&Place)) {
    let folder = tempdir().unwrap();
    check(&Place::Folder(folder.path().to_owned())).await;
    if let Some(place) = in_postgres().await {
        check(&place).await;
        let thread = std::thread::current();
        println!("on PostgreSQL too: {}", thread.name().unwrap());
    }
}

async fn in_postgres() -> Option<Place> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let url = std::env::var(NAMED).ok()?;
    let schema = format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection.execute(format!("CREATE SCHEMA {schema}").as_str()).await.unwrap();
    let separator = if url.contains('?') { '&' } else { '?' };
    Some(Place::Server(Server::new(format!("{url}{separator}options[search_path]={schema}"), "here:9917", None)))
}

/// The writer of one of several daemons, also over a file, which daemons cannot share: what they write is the same.
pub(super) fn daemon(place: &Place, watcher: &str) -> Writer {
    let mut writer = Writer::new(place);
    writer.watcher = watcher.to_owned();
    writer.lock = Some(tempfile::tempfile().unwrap());
    writer
}
