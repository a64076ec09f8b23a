//! One HTTP request and its answer, for both transports that speak HTTP.
//!
//! Invariants:
//! * a request is made at most once: no redirect is followed, nothing is repeated, and no connection serves two requests;
//! * nothing of the environment leads it elsewhere or adds to it: no proxy, no cookie, no referer;
//! * one deadline bounds it, from the resolution of the name to the answer;
//! * what went wrong is told without the URL, the headers and the bodies.

mod broken;
mod tls;

pub(super) use broken::Broken;

use super::document::breaks_lines;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Body, Client, ClientBuilder, Method, Response, Url};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};
use tokio::time::timeout_at;

/// Longest name that a server may give to a request.
const REFERENCE_MAX: usize = 200;
/// How long the rest of an answer is listened to when the status has said everything.
const POLITENESS: Duration = Duration::from_millis(500);

/// A request.
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// A client for one attempt.
pub(super) fn client() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("pg-relay-processor/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .http1_only()
        .pool_max_idle_per_host(0)
}

/// Makes `request` and returns as soon as the status and the headers of the answer are there.
pub(super) async fn exchange(
    client: ClientBuilder,
    request: Request,
    deadline: Instant,
) -> Result<Response, Broken> {
    let tls = tls::connector().map_err(|error| Broken::setup(&error))?;
    let client = client
        .tls_backend_preconfigured(tls)
        // A share of it for each address: one that does not answer leaves time for the next.
        .connect_timeout(deadline.saturating_duration_since(Instant::now()))
        .build()
        .map_err(|error| Broken::setup(&error))?;
    // A body without bytes is never asked for, so of such a request it cannot be told when it is under way.
    let under_way = Arc::new(AtomicBool::new(request.body.is_empty()));
    let body = Tracked {
        bytes: request.body,
        under_way: Arc::clone(&under_way),
    };
    let answer = client
        .request(request.method, request.url)
        .headers(request.headers)
        .body(Body::wrap(body))
        .send();
    match timeout_at(deadline.into(), answer).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(Broken::new(&error, under_way.load(Ordering::Relaxed))),
        Err(_) => Err(Broken::timeout(under_way.load(Ordering::Relaxed))),
    }
}

/// The beginning of the body, up to `limit` bytes: what has arrived `until` then, or before the connection broke.
pub(super) async fn read_body(mut response: Response, limit: usize, until: Instant) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < limit {
        match timeout_at(until.into(), response.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    body.truncate(limit);
    body
}

/// Lets a server finish an answer of which nothing more is wanted, so that it does not log a broken connection.
pub(super) async fn let_finish(response: Response, deadline: Instant) {
    const ENOUGH: usize = 4096;
    let until = deadline.min(Instant::now() + POLITENESS);
    drop(read_body(response, ENOUGH, until).await);
}

/// `Retry-After`: seconds or a date (RFC 9110, section 10.2.3); a date that has passed asks for no pause.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Digits beyond any integer still ask for a long time.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// What a server calls the request in header `name`, where that is a short word.
pub(super) fn reference(headers: &HeaderMap, name: &str) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    let is_word = (1..=REFERENCE_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_word.then(|| text.to_owned())
}

/// The first `most` characters of what somebody else said, on one line.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let line = text.chars().map(|c| if breaks_lines(c) { ' ' } else { c });
    line.take(most).collect()
}

/// A body that tells when it is first asked for: from then on the connection stands and the server may have the request.
struct Tracked {
    bytes: Bytes,
    under_way: Arc<AtomicBool>,
}

impl http_body::Body for Tracked {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        this.under_way.store(true, Ordering::Relaxed);
        let bytes = std::mem::take(&mut this.bytes);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{reference, retry_after};
    use reqwest::header::{HeaderMap, HeaderValue};
    use std::time::{Duration, SystemTime};

    fn with(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(
            reqwest::header::HeaderName::from_static(name),
            HeaderValue::from_str(value).unwrap(),
        )])
    }

    fn asked(value: &str) -> Option<Duration> {
        retry_after(&with("retry-after", value))
    }

    #[test]
    fn retry_after_is_read_in_both_forms() {
        assert_eq!(asked("7"), Some(Duration::from_secs(7)));
        assert_eq!(asked(" 0 "), Some(Duration::ZERO));
        assert_eq!(
            asked("99999999999999999999999"),
            Some(Duration::from_secs(u64::MAX))
        );
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
        let pause = asked(&date).unwrap();
        assert!(
            pause > Duration::from_secs(90) && pause <= Duration::from_secs(100),
            "{pause:?}"
        );
        let past = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(asked(past), Some(Duration::ZERO));
    }

    #[test]
    fn any_other_retry_after_is_none() {
        for value in ["", "-1", "1.5", "soon", "7 s", "+7"] {
            assert_eq!(asked(value), None, "{value:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[test]
    fn a_reference_is_a_short_word() {
        let named = |value: &str| reference(&with("x-request-id", value), "x-request-id");
        assert_eq!(named(" req-1.2:3/4 ").as_deref(), Some("req-1.2:3/4"));
        assert_eq!(named("two words"), None);
        assert_eq!(named(""), None);
        assert_eq!(named(&"x".repeat(201)), None);
        assert_eq!(reference(&HeaderMap::new(), "x-request-id"), None);
    }
}
