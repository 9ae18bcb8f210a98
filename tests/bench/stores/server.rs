//! An S3 server that does nothing but look up: it holds checkpoints in memory, answers after the time that a cloud
//! takes, and is sick in some buckets. What tests use, moto, looks through all it has for each listing, so that it would
//! measure itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::files;

/// What the server is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) checkpoints: usize,
    pub(crate) latency: Duration,
}

#[derive(Debug)]
struct Lake {
    setup: Setup,
    /// The same in each bucket.
    files: Mutex<BTreeMap<String, String>>,
    newest: Mutex<u64>,
}

/// Names of buckets that are sick, each in its own way.
pub(crate) const SICK: [&str; 3] = ["hangs", "throttles", "denies"];

/// Serves until the process is ended, and prints its port first.
pub(crate) async fn serve(setup: Setup) {
    let mut all = BTreeMap::new();
    for checkpoint in 0..setup.checkpoints {
        all.extend(files::checkpoint(checkpoint));
    }
    let lake = Arc::new(Lake { setup, files: Mutex::new(all), newest: Mutex::new(files::NEWEST) });
    let router = Router::new()
        .route("/advance", post(advance))
        .route("/{bucket}", get(list))
        .route("/{bucket}/{*key}", get(fetch))
        .with_state(lake);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    axum::serve(listener, router).await.unwrap();
}

/// Every query commits its next batch, and forgets its oldest one.
async fn advance(State(lake): State<Arc<Lake>>) {
    let mut newest = lake.newest.lock().unwrap();
    *newest += 1;
    let mut all = lake.files.lock().unwrap();
    for checkpoint in 0..lake.setup.checkpoints {
        let (written, removed) = files::next(checkpoint, *newest);
        all.extend(written);
        for key in removed {
            all.remove(&key);
        }
    }
}

/// Waits as long as the cloud would, and answers in its place where it is sick.
async fn sickness(lake: &Lake, bucket: &str) -> Option<Response> {
    tokio::time::sleep(lake.setup.latency).await;
    match SICK.iter().position(|sick| bucket == *sick)? {
        0 => {
            std::future::pending::<()>().await;
            None
        }
        1 => Some((StatusCode::SERVICE_UNAVAILABLE, "<Error><Code>SlowDown</Code></Error>").into_response()),
        _ => Some((StatusCode::FORBIDDEN, "<Error><Code>AccessDenied</Code></Error>").into_response()),
    }
}

async fn fetch(
    State(lake): State<Arc<Lake>>,
    Path((bucket, key)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    if let Some(answer) = sickness(&lake, &bucket).await {
        return answer;
    }
    let Some(content) = lake.files.lock().unwrap().get(&key).cloned() else {
        return (StatusCode::NOT_FOUND, "<Error><Code>NoSuchKey</Code></Error>").into_response();
    };
    let tag = tag(&content);
    let known = headers.get("if-none-match").is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let headers = [("etag", tag), ("last-modified", files::WRITTEN_HTTP.to_owned())];
    if known { (StatusCode::NOT_MODIFIED, headers).into_response() } else { (headers, content).into_response() }
}

async fn list(
    State(lake): State<Arc<Lake>>,
    Path(bucket): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    if let Some(answer) = sickness(&lake, &bucket).await {
        return answer;
    }
    let prefix = query.get("prefix").cloned().unwrap_or_default();
    let mut answer = String::from("<ListBucketResult><IsTruncated>false</IsTruncated>");
    for (key, content) in lake.files.lock().unwrap().range(prefix.clone()..) {
        let Some(rest) = key.strip_prefix(&prefix) else { break };
        // no checkpoint here has directories below the listed ones
        assert!(!rest.contains('/'), "{key}");
        answer.push_str(&format!(
            "<Contents><Key>{key}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
            files::WRITTEN,
            tag(content).replace('"', "&quot;"),
            content.len()
        ));
    }
    answer.push_str("</ListBucketResult>");
    answer.into_response()
}

/// The contents of two files are equal only where all of them are.
fn tag(content: &str) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}
