use super::{Grant, IDLE, KEYS_MAX, Key, Token, Tokens, fresh_for, lock};
use crate::transport::Failure;
use futures_util::future::join_all;
use secrecy::{ExposeSecret as _, SecretString};
use shared::failure::{Evidence, Network};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

const LIMIT: Duration = Duration::from_secs(20);

fn key(secret: &str) -> Key {
    Key::new("authority", "tenant", "client", secret, "scope")
}

fn grant(text: &str, seconds: u64) -> Grant {
    Grant {
        token: SecretString::from(text),
        lifetime: Duration::from_secs(seconds),
    }
}

fn failure() -> Failure {
    Failure::new(Evidence::TokenUnusable, "s".to_owned(), "d".to_owned())
}

fn in_time() -> Instant {
    Instant::now() + LIMIT
}

fn text(token: &Token) -> &str {
    token.secret().expose_secret()
}

/// Gets a token whose fetch brings `result`.
async fn get(
    tokens: &Tokens,
    secret: &str,
    result: Result<Grant, Failure>,
) -> Result<Token, Failure> {
    tokens
        .get(key(secret), in_time(), || async { result })
        .await
}

#[test]
fn a_token_is_used_for_its_lifetime_but_a_margin() {
    let fresh = |seconds| fresh_for(Duration::from_secs(seconds)).as_secs();
    assert_eq!(
        [0, 30, 60, 3000, 3600, 86_400].map(fresh),
        [0, 27, 54, 2700, 3300, 86_100]
    );
}

#[tokio::test]
async fn a_fresh_token_is_kept_for_its_key_alone() {
    let tokens = Tokens::default();
    get(&tokens, "s", Ok(grant("one", 3600))).await.unwrap();
    let kept = get(&tokens, "s", Err(failure())).await.unwrap();
    assert_eq!(text(&kept), "one");
    let other = get(&tokens, "another secret", Ok(grant("two", 3600)))
        .await
        .unwrap();
    assert_eq!(text(&other), "two");
}

#[tokio::test]
async fn one_without_a_lifetime_is_used_once() {
    let tokens = Tokens::default();
    get(&tokens, "s", Ok(grant("one", 0))).await.unwrap();
    let token = get(&tokens, "s", Ok(grant("two", 0))).await.unwrap();
    assert_eq!(text(&token), "two");
}

/// A hundred ask while the first request is under way, which then brings `brought`; returns what they got and how many requests were made.
async fn a_hundred(
    brought: impl Fn() -> Result<Grant, Failure>,
) -> (Vec<Result<Token, Failure>>, usize) {
    let tokens = Tokens::default();
    let (requests, asking, all_ask) = (AtomicUsize::new(0), AtomicUsize::new(0), Notify::new());
    let one = || async {
        if asking.fetch_add(1, Ordering::Relaxed) == 99 {
            all_ask.notify_one();
        }
        let fetch = || async {
            requests.fetch_add(1, Ordering::Relaxed);
            all_ask.notified().await;
            brought()
        };
        tokens.get(key("s"), in_time(), fetch).await
    };
    let got = join_all((0..100).map(|_| one())).await;
    (got, requests.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_hundred_share_one_request() {
    let (got, requests) = a_hundred(|| Ok(grant("one", 3600))).await;
    assert!(got.iter().all(Result::is_ok));
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn a_hundred_share_a_token_that_has_no_lifetime() {
    let (got, requests) = a_hundred(|| Ok(grant("one", 0))).await;
    assert!(got.iter().all(Result::is_ok));
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn a_hundred_share_a_failure_which_is_not_kept() {
    let (got, requests) = a_hundred(|| Err(failure())).await;
    assert!(got.iter().all(|got| got.as_ref().err() == Some(&failure())));
    assert_eq!(requests, 1);

    let tokens = Tokens::default();
    get(&tokens, "s", Err(failure())).await.err().unwrap();
    get(&tokens, "s", Ok(grant("one", 3600))).await.unwrap();
}

#[tokio::test]
async fn the_next_in_line_fetches_when_the_first_is_cancelled() {
    let tokens = Arc::new(Tokens::default());
    let begun = Arc::new(Notify::new());
    let first = tokio::spawn({
        let (tokens, begun) = (Arc::clone(&tokens), Arc::clone(&begun));
        async move {
            let fetch = || async {
                begun.notify_one();
                pending::<Result<Grant, Failure>>().await
            };
            drop(tokens.get(key("s"), in_time(), fetch).await);
        }
    });
    begun.notified().await;
    let second = get(&tokens, "s", Ok(grant("two", 3600)));
    tokio::pin!(second);
    assert!(futures_util::poll!(&mut second).is_pending());
    first.abort();
    assert_eq!(text(&second.await.unwrap()), "two");
}

#[tokio::test]
async fn a_first_with_too_little_time_does_not_speak_for_the_others() {
    let tokens = Tokens::default();
    let over = Instant::now();
    let begun = Notify::new();
    let first = tokens.get(key("s"), over, || async {
        begun.notified().await;
        Err(failure())
    });
    tokio::pin!(first);
    assert!(futures_util::poll!(&mut first).is_pending());
    let second = get(&tokens, "s", Ok(grant("two", 3600)));
    tokio::pin!(second);
    assert!(futures_util::poll!(&mut second).is_pending());
    begun.notify_one();
    assert!(first.await.is_err());
    assert_eq!(text(&second.await.unwrap()), "two");
}

#[tokio::test]
async fn nobody_waits_beyond_their_deadline() {
    let tokens = Tokens::default();
    let first = tokens.get(key("s"), in_time(), pending::<Result<Grant, Failure>>);
    tokio::pin!(first);
    assert!(futures_util::poll!(&mut first).is_pending());
    let soon = Instant::now() + Duration::from_millis(20);
    let second = tokens.get(key("s"), soon, || async { Ok(grant("two", 3600)) });
    let failure = second.await.err().unwrap();
    assert_eq!(failure.evidence, Evidence::Network(Network::Timeout));
}

#[tokio::test]
async fn a_refused_token_is_dropped_once() {
    let tokens = Tokens::default();
    let old = get(&tokens, "s", Ok(grant("old", 3600))).await.unwrap();
    tokens.refuse(&key("s"), &old);
    let new = get(&tokens, "s", Ok(grant("new", 3600))).await.unwrap();
    assert_eq!(text(&new), "new");
    // The others that were refused the old one come later; the new one stays.
    tokens.refuse(&key("s"), &old);
    let kept = get(&tokens, "s", Err(failure())).await.unwrap();
    assert_eq!(text(&kept), "new");
    tokens.refuse(&key("never seen"), &old);
}

#[tokio::test]
async fn what_is_unused_for_long_is_forgotten_and_the_rest_is_bounded() {
    let tokens = Tokens::default();
    for number in 0..KEYS_MAX + 10 {
        get(&tokens, &number.to_string(), Ok(grant("token", 3600)))
            .await
            .unwrap();
    }
    assert_eq!(lock(&tokens.0).len(), KEYS_MAX);
    assert!(!lock(&tokens.0).contains_key(&key("0")));
    let long_ago = Instant::now().checked_sub(IDLE).unwrap();
    for entry in lock(&tokens.0).values_mut() {
        entry.used = long_ago;
    }
    get(&tokens, "s", Ok(grant("token", 3600))).await.unwrap();
    assert_eq!(lock(&tokens.0).len(), 1);
}

#[tokio::test]
async fn nothing_of_a_token_is_printed() {
    let tokens = Tokens::default();
    let token = get(&tokens, "s3cret", Ok(grant("t0ken", 3600)))
        .await
        .unwrap();
    assert_eq!(format!("{tokens:?}"), "Tokens { keys: 1 }");
    assert!(!format!("{:?}", token.secret()).contains("t0ken"));
}
