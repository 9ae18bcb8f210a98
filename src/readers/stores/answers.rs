//! What a store answered while one of its operations ran: how many requests it took and the last status. The store's
//! library hides both from its errors, and a failed listing would otherwise be a mere text.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::client::{
    Certificate, ClientOptions, HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

use super::location::StoreError;

/// What was noted during one operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    /// Requests sent, repeated ones and further pages included.
    pub(super) requests: u64,
    /// The HTTP status of the last answer; absent when none came.
    pub(super) status: Option<u16>,
    /// How long the last answer asked to be left alone.
    pub(super) retry_after: Option<Duration>,
}

tokio::task_local! {
    static ANSWERS: Cell<Answers>;
}

/// Runs an operation and tells what was answered meanwhile.
pub(super) async fn noting<T>(operation: impl Future<Output = T>) -> (T, Answers) {
    let noted = async {
        let outcome = operation.await;
        (outcome, ANSWERS.with(Cell::get))
    };
    ANSWERS.scope(Cell::default(), noted).await
}

fn note(change: impl Fn(&mut Answers)) {
    let noted = ANSWERS.try_with(|cell| {
        let mut answers = cell.get();
        change(&mut answers);
        cell.set(answers);
    });
    // what the library does on its own account is nobody's answer
    noted.ok();
}

/// Makes clients that note what is answered.
#[derive(Clone, Debug, Default)]
pub(super) struct NotingConnector {
    /// Trusted beside the system's.
    certificates: Vec<Certificate>,
}

impl NotingConnector {
    /// With the certificates of a file, if one is given.
    pub(super) fn trusting(ca_file: Option<&Path>) -> Result<Self, StoreError> {
        let Some(path) = ca_file else { return Ok(Self::default()) };
        let refused = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Certificates {
            path: path.to_owned(),
            source,
        };
        let pem = std::fs::read(path).map_err(|error| refused(error.into()))?;
        let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| refused(error.into()))?;
        if certificates.is_empty() {
            return Err(refused("no certificate is in it".into()));
        }
        Ok(Self { certificates })
    }
}

impl HttpConnector for NotingConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let trusted = self.certificates.iter().cloned();
        let options = trusted.fold(options.clone(), ClientOptions::with_root_certificate);
        let client = ReqwestConnector::default().connect(&options)?;
        Ok(HttpClient::new(NotingService { client }))
    }
}

#[derive(Debug)]
struct NotingService {
    client: HttpClient,
}

impl HttpService for NotingService {
    fn call<'service, 'answer>(
        &'service self,
        request: HttpRequest,
    ) -> BoxFuture<'answer, Result<HttpResponse, HttpError>>
    where
        'service: 'answer,
        Self: 'answer,
    {
        async move {
            note(|answers| {
                answers.requests += 1;
                answers.status = None;
                answers.retry_after = None;
            });
            let answer = self.client.execute(request).await?;
            let status = answer.status().as_u16();
            let retry_after = retry_after(&answer);
            note(|answers| {
                answers.status = Some(status);
                answers.retry_after = retry_after;
            });
            Ok(answer)
        }
        .boxed()
    }
}

/// The header's other form, a date, is used by none of the stores.
fn retry_after(answer: &HttpResponse) -> Option<Duration> {
    let seconds = answer.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}
