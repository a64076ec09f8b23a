//! The mail servers of the tests do what the other tests rely on. Seen with smtplib's and openssl's eyes, without a Processor.

use std::process::{Command, Stdio};

use fleet_tests::mail::exim::Exim;
use fleet_tests::mail::postfix::{Port, Postfix};
use fleet_tests::mail::reading;
use fleet_tests::skip;

const SEND: &str = r#"
import smtplib, ssl, sys
port, mode, authority, user, password, subject, *recipients = sys.argv[1:]
context = ssl.create_default_context(cafile=authority or None)
try:
    server = (smtplib.SMTP_SSL("localhost", port, context=context, timeout=10) if mode == "tls"
              else smtplib.SMTP("localhost", port, timeout=10))
    if mode == "starttls":
        server.starttls(context=context)
    if user:
        server.login(user, password)
    message = f"From: s@test.example\r\nTo: r@test.example\r\nSubject: {subject}\r\nMessage-ID: <1@test.example>\r\n\r\nbody\r\n..dot\r\n"
    refused = server.sendmail("s@test.example", recipients, message)
    print("sent", {r: e[0] for r, e in refused.items()})
except smtplib.SMTPRecipientsRefused as e:
    print("refused", {r: e[0] for r, e in e.recipients.items()})
except smtplib.SMTPResponseException as e:
    print("answered", e.smtp_code)
except ssl.SSLCertVerificationError as e:
    print("untrusted:", e.verify_message)
"#;

/// One mail sent by Python.
struct Mail<'a> {
    port: u16,
    mode: &'a str,
    authority: &'a str,
    login: (&'a str, &'a str),
    subject: &'a str,
    recipients: &'a [&'a str],
}

impl Mail<'_> {
    fn send(&self) -> String {
        let output = Command::new("/usr/bin/python3")
            .args(["-I", "-c", SEND, &self.port.to_string(), self.mode])
            .args([self.authority, self.login.0, self.login.1, self.subject])
            .args(self.recipients)
            .stdin(Stdio::null())
            .output()
            .expect("starting python3");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

fn plain(port: u16) -> Mail<'static> {
    Mail {
        port,
        mode: "plain",
        authority: "",
        login: ("", ""),
        subject: "hello",
        recipients: &["ok@test.example"],
    }
}

#[tokio::test]
async fn postfix_answers_recipients_content_and_logins() {
    let postfix = match Postfix::start().await {
        Ok(postfix) => postfix,
        Err(why) => skip!("mail", "{why}"),
    };
    let port = postfix.port(Port::Plain);
    for (recipient, answer) in [
        ("grey@test.example", "450 4.7.1 Later"),
        ("unknown@test.example", "550 5.1.1 No such user"),
        ("full@test.example", "452 4.2.2 Full"),
        ("bye@test.example", "421 4.3.2 Closing"),
    ] {
        postfix.answer(recipient, Some(answer));
        let sent = Mail {
            recipients: &[recipient],
            ..plain(port)
        }
        .send();
        assert!(sent.contains(&answer[..3]), "{recipient}: {sent}");
    }
    postfix.answer("grey@test.example", None);
    let recipients = ["grey@test.example", "unknown@test.example"];
    let sent = Mail {
        recipients: &recipients,
        ..plain(port)
    }
    .send();
    assert_eq!(sent, "sent {'unknown@test.example': 550}");
    let received = postfix.wait_for("grey@test.example", 1).await;
    assert_eq!(received[0].sender, "s@test.example");
    assert!(
        received[0].text().ends_with("\n\nbody\n..dot\n"),
        "{}",
        received[0].text()
    );
    let reading = reading::read(&received[0].message);
    assert_eq!(reading.text.as_deref(), Some("body\n..dot\n"));

    let unwelcome = Mail {
        subject: "unwelcome",
        ..plain(port)
    };
    assert_eq!(unwelcome.send(), "answered 550");
    let few = Mail {
        recipients: &["a@test.example", "b@test.example", "c@test.example"],
        ..plain(postfix.port(Port::Few))
    };
    assert_eq!(few.send(), "sent {'c@test.example': 452}");
}

#[tokio::test]
async fn postfix_speaks_tls_and_checks_logins() {
    let postfix = match Postfix::start().await {
        Ok(postfix) => postfix,
        Err(why) => skip!("mail", "{why}"),
    };
    let authority = postfix.authority().certificate().display().to_string();
    postfix.add_login("mailer", "p@:/%+ w");
    for (port, mode) in [(Port::Starttls, "starttls"), (Port::Tls, "tls")] {
        let good = Mail {
            mode,
            authority: &authority,
            login: ("mailer@test.example", "p@:/%+ w"),
            ..plain(postfix.port(port))
        };
        assert_eq!(good.send(), "sent {}", "{port:?}");
        let bad = Mail {
            login: ("mailer@test.example", "wrong"),
            ..good
        };
        assert_eq!(bad.send(), "answered 535", "{port:?}");
        let untrusted = Mail {
            authority: "",
            ..bad
        };
        assert!(untrusted.send().starts_with("untrusted"), "{port:?}");
    }
    assert!(postfix.log().contains("sasl_username=mailer@test.example"));
    let wrong = Mail {
        mode: "starttls",
        authority: &authority,
        ..plain(postfix.port(Port::WrongName))
    };
    assert!(
        wrong.send().contains("Hostname mismatch"),
        "{}",
        wrong.send()
    );
}

#[tokio::test]
async fn exim_lets_the_second_attempt_through() {
    let exim = match Exim::start().await {
        Ok(exim) => exim,
        Err(why) => skip!("mail", "{why}"),
    };
    let grey = Mail {
        recipients: &["grey@test.example"],
        ..plain(exim.port())
    };
    assert_eq!(grey.send(), "refused {'grey@test.example': 451}");
    assert_eq!(grey.send(), "sent {}");
    let received = exim.wait_for("grey@test.example", 1).await;
    assert!(received[0].text().ends_with("\n\nbody\n..dot\n"));
    let unknown = Mail {
        recipients: &["unknown@test.example"],
        ..plain(exim.port())
    };
    assert_eq!(unknown.send(), "refused {'unknown@test.example': 550}");
    let unwelcome = Mail {
        subject: "unwelcome",
        ..plain(exim.port())
    };
    assert_eq!(unwelcome.send(), "answered 550");
}
