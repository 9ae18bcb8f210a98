//! No other site may make a browser change anything here: the browser adds its user's password by itself, whoever wrote
//! the form. Browsers say where a request comes from; what is no browser says nothing, and has no password of another's.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

pub(super) async fn check(request: Request, next: Next) -> Response {
    let is_harmless = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if is_harmless || is_from_here(request.headers()) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "this request comes from another site\n").into_response()
}

fn is_from_here(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        // `none`: the person's own doing, such as a bookmark.
        return site == "same-origin" || site == "none";
    }
    // Browsers send the one above to encrypted and local pages only.
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    matches!((origin, host), (Some((_, origin)), Some(host)) if origin.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn what_comes_from_another_site_is_told_by_its_headers() {
        let check = |said: &[(&'static str, &'static str)], expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("brinkwatch:9917"));
            for (name, value) in said {
                headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            assert_eq!(is_from_here(&headers), expected, "{said:?}");
        };
        check(&[], true);
        check(&[("sec-fetch-site", "same-origin")], true);
        check(&[("sec-fetch-site", "none")], true);
        check(&[("sec-fetch-site", "same-site")], false);
        check(&[("sec-fetch-site", "cross-site")], false);
        check(&[("sec-fetch-site", "cross-site"), ("origin", "http://brinkwatch:9917")], false);
        check(&[("origin", "http://brinkwatch:9917")], true);
        check(&[("origin", "https://Brinkwatch:9917")], true);
        check(&[("origin", "http://brinkwatch")], false);
        check(&[("origin", "http://evil.example")], false);
        check(&[("origin", "http://brinkwatch:9917.evil.example")], false);
        check(&[("origin", "null")], false);
        check(&[("origin", "")], false);
    }
}
