//! AUTH: every mechanism, and nothing of the password anywhere but on the wire.

use crate::client::{Attempt, LONG, PASSWORD, attempt_with, letter, login, profile, send};
use crate::peer::{Act, Peer, Script};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use shared::failure::{Class, Evidence, Offer, Phase};

fn encode(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

fn server(offers: &'static str, logins: &[&'static str]) -> Script {
    Script {
        offers: vec![offers],
        logins: logins.to_vec(),
        ..Script::default()
    }
}

/// The lines between EHLO and what follows the login.
fn login_lines(peer: &Peer) -> Vec<String> {
    let lines = peer.heard().lines.into_iter();
    lines
        .skip(1)
        .take_while(|line| !line.starts_with("MAIL") && line != "QUIT")
        .collect()
}

#[tokio::test]
async fn plain_sends_name_and_password_with_the_command() {
    let peer = Peer::start(server("AUTH LOGIN PLAIN", &["235 ok"]));
    send(&peer, &login("plain"), LONG).await.sent();
    assert_eq!(
        login_lines(&peer),
        [format!(
            "AUTH PLAIN {}",
            encode(&format!("\0user\0{PASSWORD}"))
        )]
    );
}

#[tokio::test]
async fn login_answers_prompts_of_any_text() {
    for logins in [
        ["334 VXNlcm5hbWU6", "334 UGFzc3dvcmQ6", "235 ok"],
        ["334 dXNlcm5hbWU6", "334 cGFzc3dvcmQ6", "235"],
        ["334", "334", "235 2.7.0 ok"],
        ["334 User Name", "334-a\r\n334 not base64!", "235 ok"],
    ] {
        let peer = Peer::start(server("AUTH PLAIN LOGIN", &logins));
        send(&peer, &login("login"), LONG).await.sent();
        assert_eq!(
            login_lines(&peer),
            ["AUTH LOGIN".to_owned(), encode("user"), encode(PASSWORD)],
            "{logins:?}"
        );
    }
}

#[tokio::test]
async fn xoauth2_hears_the_refusal_behind_the_challenge() {
    let keys = login("xoauth2");
    let token = "ya29.token-token-token";
    let challenge = "334 eyJzdGF0dXMiOiI0MDAifQ==";
    for (logins, is_sent) in [
        (&["235 ok"][..], true),
        (&[challenge, "535 5.7.8 token expired"], false),
    ] {
        let peer = Peer::start(server("AUTH XOAUTH2", logins));
        let attempt = attempt_with(token, &profile(&peer, &keys), &letter(), LONG).await;
        let expected = format!(
            "AUTH XOAUTH2 {}",
            encode(&format!("user=user\u{1}auth=Bearer {token}\u{1}\u{1}"))
        );
        if is_sent {
            attempt.sent();
            assert_eq!(login_lines(&peer), [expected]);
        } else {
            assert_eq!(attempt.refusal(), (Phase::Auth, 535));
            assert_eq!(attempt.class(), Class::Permanent);
            assert_eq!(login_lines(&peer), [expected, String::new()]);
        }
    }
}

#[tokio::test]
async fn a_mechanism_that_is_not_offered_is_not_tried() {
    for (offers, auth) in [
        ("AUTH LOGIN", "plain"),
        ("AUTH PLAIN", "login"),
        ("AUTH PLAIN LOGIN OAUTHBEARER XOAUTH", "xoauth2"),
        ("AUTH PLAIN-CLIENTTOKEN XPLAIN", "plain"),
        ("XAUTH PLAIN", "plain"),
        ("HELP", "plain"),
    ] {
        let peer = Peer::start(server(offers, &["235 ok"]));
        let attempt = attempt_with("token", &profile(&peer, &login(auth)), &letter(), LONG).await;
        assert_eq!(
            attempt.failure().evidence,
            Evidence::NotOffered(Offer::Auth),
            "{offers} for {auth}"
        );
        assert_eq!(attempt.class(), Class::Permanent);
        let heard = peer.heard_to_the_end().await;
        assert_eq!(heard.lines, ["EHLO app.example.org", "QUIT"]);
    }
}

#[tokio::test]
async fn refusals_are_classified_by_their_code_and_only_235_lets_us_in() {
    for (logins, class) in [
        (["454 4.7.0 try later"], Class::Transient),
        (["432 4.7.12 x"], Class::Transient),
        (["534 5.7.9 x"], Class::Permanent),
        (["535 5.7.139 x"], Class::Permanent),
        (["538 x"], Class::Permanent),
    ] {
        let peer = Peer::start(server("AUTH PLAIN", &logins));
        let attempt = send(&peer, &login("plain"), LONG).await;
        assert_eq!(
            (attempt.refusal().0, attempt.class()),
            (Phase::Auth, class),
            "{logins:?}"
        );
    }
    for reply in ["250 ok", "334", "220 x", "354 go"] {
        let peer = Peer::start(server("AUTH PLAIN", &[reply]));
        let attempt = send(&peer, &login("plain"), LONG).await;
        assert_eq!(
            attempt.network(),
            shared::failure::Network::NoReply,
            "{reply}"
        );
    }
}

/// Everything that can be read of an attempt besides the wire.
fn everything(attempt: &Attempt) -> String {
    format!("{:?} {:?}", attempt.result, attempt.steps)
}

#[tokio::test]
async fn a_server_that_repeats_the_login_makes_nobody_read_it() {
    let plain = encode(&format!("\0user\0{PASSWORD}"));
    for said in [
        format!("535 5.7.8 bad password {PASSWORD}"),
        format!("535-5.7.8 bad login\r\n535 AUTH PLAIN {plain}"),
        format!("535 you sent {}", &plain[..20]),
        format!("535 {}", encode(PASSWORD)),
    ] {
        let script = server("AUTH PLAIN", &[]).and("AUTH", Act::say(&said));
        let peer = Peer::start(script);
        let attempt = send(&peer, &login("plain"), LONG).await;
        assert_eq!(attempt.failure().detail, "AUTH refused with 535 [withheld]");
        let everything = everything(&attempt);
        assert!(
            !everything.contains("tr0ub4dor") && !everything.contains(&plain[..20]),
            "{everything}"
        );
    }
}

#[tokio::test]
async fn steps_and_results_hold_no_content_address_or_secret() {
    for script in [
        server("AUTH PLAIN", &["235 ok"]),
        server("AUTH PLAIN", &["235 ok"]).and("dot", Act::say("554 no")),
    ] {
        let peer = Peer::start(script);
        let attempt = send(&peer, &login("plain"), LONG).await;
        let steps: Vec<&str> = attempt.steps.iter().map(|step| step.step).collect();
        assert_eq!(
            steps,
            [
                "compose",
                "connect",
                "banner",
                "EHLO",
                "AUTH",
                "MAIL",
                "RCPT",
                "DATA",
                "message",
                "final dot"
            ]
        );
        let everything = everything(&attempt);
        for word in [
            "tr0ub4dor",
            "a@example.org",
            "app@example.org",
            "Subject of",
            "Body of",
            "user",
            &encode("\0user\0")[..8],
        ] {
            assert!(!everything.contains(word), "{word} in {everything}");
        }
    }
}

#[tokio::test]
async fn a_password_without_tls_is_the_profiles_own_decision() {
    let peer = Peer::start(server("AUTH PLAIN", &["235 ok"]));
    let mut keys = login("plain");
    keys["security"] = json!("none");
    send(&peer, &keys, LONG).await.sent();
}
