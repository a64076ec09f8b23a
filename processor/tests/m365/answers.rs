//! What the answers of both servers come to.

use crate::cloud::{Cloud, SECRET, accepted, grant, send};
use crate::peer::{Act, Received, answer};
use crate::sending::transports;
use serde_json::json;
use shared::failure::Class::{Permanent, Transient};
use shared::failure::{Class, Evidence, GraphCode, Network, TokenCode};

/// An error as Graph writes it; its message quotes the mail.
fn error(status: u16, headers: &str, code: &str, inner: &str) -> Act {
    let body = json!({"error": {
        "code": code,
        "message": "rcpt@example.org said\r\nno",
        "innerError": {"code": inner, "request-id": "r-2"},
    }});
    answer(status, headers, &body.to_string())
}

#[tokio::test]
async fn any_2xx_is_a_success_and_nothing_is_repeated() {
    for act in [
        answer(202, "Retry-After: 5\r\nrequest-id: r-1\r\n", ""),
        Act::Say("HTTP/1.1 202 Accepted\r\nrequest-id: r-1\r\n\r\n".to_owned()),
        answer(200, "request-id: r-1\r\n", "{}"),
        answer(204, "request-id: r-1\r\n", ""),
        Act::Say(
            "HTTP/1.1 202 Accepted\r\nrequest-id: r-1\r\nContent-Length: 10\r\n\r\ncut".to_owned(),
        ),
    ] {
        let cloud = Cloud::answering(act).await;
        assert_eq!(
            cloud.send().await.sent().provider_ref.as_deref(),
            Some("r-1")
        );
        assert_eq!(cloud.mails().len(), 1);
    }
}

#[tokio::test]
async fn graph_refuses() {
    const FULL: &str = "ErrorQuotaExceeded";
    for (status, code, inner, class) in [
        (400, "ErrorInvalidRecipients", "", Permanent),
        (403, "ErrorAccessDenied", "", Permanent),
        (
            404,
            "ErrorInvalidUser",
            "MailboxNotEnabledForRESTAPI",
            Permanent,
        ),
        (405, "x", "", Permanent),
        (413, "", "", Permanent),
        (302, "", "", Permanent),
        (429, FULL, "", Permanent),
        (507, "generalException", FULL, Permanent),
        (408, "", "", Transient),
        (425, "", "", Transient),
        (429, "ApplicationThrottled", "MailboxConcurrency", Transient),
        (500, "generalException", "", Transient),
        (503, "serviceNotAvailable", "", Transient),
        (504, "UnknownError", "", Transient),
    ] {
        let cloud = Cloud::answering(error(
            status,
            "Retry-After: 3\r\nrequest-id: r-2\r\n",
            code,
            inner,
        ))
        .await;
        let outcome = cloud.send().await;
        let failure = outcome.failure();
        let read = if [code, inner].contains(&FULL) {
            GraphCode::QuotaExceeded
        } else {
            GraphCode::Other
        };
        assert_eq!(failure.evidence, Evidence::Graph { status, code: read });
        assert_eq!(failure.class(), class, "{failure:?}");
        assert_eq!(failure.retry_after.is_some(), class == Transient);
        for word in [status.to_string().as_str(), code, inner] {
            assert!(failure.summary.contains(word), "{failure:?}");
        }
        assert!(!failure.summary.contains("example.org"), "{failure:?}");
        assert!(
            failure
                .detail
                .contains("request-id r-2: rcpt@example.org said  no"),
            "{failure:?}"
        );
        assert!(
            !outcome.told().contains("t0ken") && !outcome.told().contains("t3xt"),
            "{}",
            outcome.told()
        );
        assert_eq!(cloud.mails().len(), 1);
    }
}

#[tokio::test]
async fn a_refusal_that_is_no_json_is_told_by_its_status() {
    for body in [
        "",
        "<html>proxy</html>",
        "[]",
        r#"{"error": "text"}"#,
        r#"{"error": {"code": 5}}"#,
    ] {
        let cloud = Cloud::answering(answer(502, "", body)).await;
        let outcome = cloud.send().await;
        assert_eq!(outcome.failure().detail, "sendMail answered 502");
    }
}

#[tokio::test]
async fn a_second_401_is_the_last() {
    let cloud = Cloud::answering(error(401, "", "InvalidAuthenticationToken", "")).await;
    let outcome = cloud.send().await;
    let failure = outcome.failure();
    assert_eq!(failure.evidence, Evidence::GraphUnauthorizedAgain);
    assert_eq!(failure.class(), Permanent);
    assert!(
        failure.summary.contains("InvalidAuthenticationToken"),
        "{failure:?}"
    );
    assert_eq!((cloud.token_requests().len(), cloud.mails().len()), (2, 2));
}

#[tokio::test]
async fn without_an_answer_the_outcome_is_unknown() {
    for act in [
        Act::Close,
        Act::Reset,
        Act::Say("HTTP/1.1 202 Acc".to_owned()),
    ] {
        let cloud = Cloud::answering(act).await;
        let outcome = cloud.send().await;
        assert_eq!(
            outcome.failure().evidence,
            Evidence::Network(Network::UnknownOutcome)
        );
        assert_eq!(cloud.mails().len(), 1);
    }
}

async fn token_refused(act: Act) -> (Evidence, Class, String, String) {
    let cloud = Cloud::new(move |_| act.clone(), |_| accepted()).await;
    let outcome = cloud.send().await;
    assert!(!outcome.told().contains("s3cret"), "{}", outcome.told());
    assert_eq!((cloud.token_requests().len(), cloud.mails().len()), (1, 0));
    let failure = outcome.failure();
    (
        failure.evidence.clone(),
        failure.class(),
        failure.summary.clone(),
        failure.detail.clone(),
    )
}

#[tokio::test]
async fn the_token_endpoint_refuses() {
    for (status, error, number, code, class) in [
        (
            401,
            "invalid_client",
            7_000_215,
            TokenCode::Other,
            Permanent,
        ),
        (
            400,
            "unauthorized_client",
            700_016,
            TokenCode::Other,
            Permanent,
        ),
        (400, "invalid_scope", 70_011, TokenCode::Other, Permanent),
        (
            400,
            "temporarily_unavailable",
            0,
            TokenCode::Unavailable,
            Transient,
        ),
        (
            400,
            "invalid_request",
            90_033,
            TokenCode::Throttled,
            Transient,
        ),
        (429, "x", 0, TokenCode::Other, Transient),
        (500, "x", 0, TokenCode::Other, Transient),
    ] {
        let body = json!({
            "error": error, "error_codes": [number],
            "error_description": format!("AADSTS{number}: you sent\r\n{}", crate::cloud::SECRET),
        });
        let (evidence, found, summary, detail) =
            token_refused(answer(status, "", &body.to_string())).await;
        assert_eq!(evidence, Evidence::Token { status, code });
        assert_eq!(found, class, "{summary}");
        assert_eq!(
            summary,
            format!("token endpoint answered {status} {error} [{number}]")
        );
        assert_eq!(detail, format!("{summary}: [withheld]"));
    }
}

#[tokio::test]
async fn an_answer_without_a_token_is_none() {
    for act in [
        answer(200, "", "<html>sign in to the network</html>"),
        answer(200, "", r#"{"token_type": "Bearer"}"#),
        grant("two words", &json!(3600)),
        grant(&"x".repeat(70_000), &json!(3600)),
        Act::Say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"access_token\": \"t".to_owned()),
    ] {
        let (evidence, class, ..) = token_refused(act).await;
        assert_eq!((evidence, class), (Evidence::TokenUnusable, Transient));
    }
}

#[tokio::test]
async fn a_token_request_without_an_answer_has_sent_nothing() {
    for act in [Act::Close, Act::Reset] {
        let (evidence, ..) = token_refused(act).await;
        assert_eq!(evidence, Evidence::Network(Network::Closed));
    }
}

/// Repeats `request` in every place that is read of an answer.
fn repeating(request: &Received, status: u16) -> Act {
    let body = String::from_utf8_lossy(&request.body).into_owned();
    let mut headers = request.headers.iter();
    let bearer = headers.find_map(|(_, value)| value.strip_prefix("Bearer "));
    let said = match bearer {
        Some(token) => {
            json!({"error": {"code": token, "message": format!("{token} {body}"), "innererror": {"code": token}}})
        }
        // The form's client_secret, as it is encoded.
        None => {
            json!({"error": body.split(['=', '&']).nth(5), "error_description": format!("you sent {body}")})
        }
    };
    let id = format!("request-id: {}\r\n", bearer.unwrap_or_default());
    answer(status, &id, &said.to_string())
}

#[tokio::test]
async fn a_server_that_repeats_what_it_was_sent_tells_no_secret() {
    const PLAIN: &str = "Abc8QtPlain.Secret_0-1";
    const TOKEN: &str = "eyJ0.t0ken-t0ken_t0ken";
    for secret in [SECRET, PLAIN] {
        let clouds = [
            Cloud::new(|request| repeating(request, 400), |_| accepted()).await,
            Cloud::new(
                |_| grant(TOKEN, &json!(3600)),
                |request| repeating(request, 400),
            )
            .await,
            Cloud::new(
                |_| grant(TOKEN, &json!(3600)),
                |request| repeating(request, 401),
            )
            .await,
            Cloud::new(
                |_| grant(TOKEN, &json!(3600)),
                |request| repeating(request, 202),
            )
            .await,
        ];
        for cloud in clouds {
            let outcome = send(&transports(&[("SECRET", secret)]), &cloud.profile()).await;
            let told = outcome.told();
            let form: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
            for hidden in [secret, &form, TOKEN] {
                assert!(!told.contains(hidden), "{hidden}: {told}");
            }
            if let Err(failure) = &outcome.result {
                assert!(failure.detail.contains("[withheld]"), "{told}");
            }
        }
    }
}
