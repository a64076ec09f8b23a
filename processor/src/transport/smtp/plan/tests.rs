use super::{Mechanism, Plan, Security};
use crate::transport::document::Fields;
use crate::transport::secrets::Secrets;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

/// Reads the least profile with `keys` over it; `PASSWORD` is `password`.
fn plan(keys: &Value, password: &str) -> Result<Plan, String> {
    let mut profile = json!({"host": "mail.example.org", "from": "App <app@example.org>"});
    for (key, value) in keys.as_object().unwrap() {
        profile[key] = value.clone();
    }
    let password = password.to_owned();
    let secrets = Secrets::new(
        |_| true,
        move |name| match name {
            "PASSWORD" => Some(password.clone().into()),
            "HOST" => Some("secret.example.org\n".to_owned().into()),
            _ => None,
        },
    );
    let resolved = secrets.resolve(&profile).unwrap();
    let fields = Fields::of_profile(&profile, &resolved).unwrap();
    Plan::read(&fields).map_err(|malformed| malformed.detail())
}

#[test]
fn the_least_profile_has_defaults_for_the_rest() {
    let plan = plan(&json!({}), "").unwrap();
    assert_eq!(
        (plan.host.as_str(), plan.port, plan.security),
        ("mail.example.org", 587, Security::StartTls)
    );
    assert_eq!(plan.envelope_from, "app@example.org");
    assert!(
        plan.login.is_none()
            && plan.helo_name.is_none()
            && plan.ca_file.is_none()
            && !plan.partial_delivery
    );
}

#[test]
fn the_default_port_is_that_of_the_security() {
    for (security, port) in [("starttls", 587), ("tls", 465), ("none", 25)] {
        assert_eq!(plan(&json!({"security": security}), "").unwrap().port, port);
    }
    assert_eq!(plan(&json!({"port": 2525}), "").unwrap().port, 2525);
}

#[test]
fn hosts_are_names_or_addresses() {
    for (host, expected) in [
        ("Mail.Example.Org.", "mail.example.org"),
        ("mail_1.internal", "mail_1.internal"),
        ("mail", "mail"),
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("bücher.example", "xn--bcher-kva.example"),
    ] {
        assert_eq!(plan(&json!({"host": host}), "").unwrap().host, expected);
    }
    for host in [
        "",
        "https://mail.example.org",
        "mail.example.org:25",
        "[::1]",
        "a b",
        "mail.example.org\r\nQUIT",
        "a\0",
        "a@b",
        "/",
        "a..b",
    ] {
        let problem = plan(&json!({"host": host}), "").err().unwrap();
        assert!(
            problem.starts_with("profile key host: expected"),
            "{problem}"
        );
    }
}

#[test]
fn the_null_sender_and_another_sender_are_possible() {
    assert_eq!(
        plan(&json!({"envelope_from": ""}), "")
            .unwrap()
            .envelope_from,
        ""
    );
    let plan_of = plan(&json!({"envelope_from": "bounces@BÜCHER.example"}), "").unwrap();
    assert_eq!(plan_of.envelope_from, "bounces@xn--bcher-kva.example");
}

#[test]
fn a_login_has_both_a_name_and_a_password_that_is_a_reference() {
    let password = "p@:/%+ü ß\r\n\u{2028}";
    let login = json!({"username": "ü ser", "password": "_env:PASSWORD"});
    let read = plan(&login, password).unwrap().login.unwrap();
    assert_eq!(read.password.expose_secret(), password);
    assert_eq!(
        (read.username.as_str(), read.mechanism),
        ("ü ser", Mechanism::Plain)
    );
    for (keys, expected) in [
        (
            json!({"username": "u"}),
            "profile key password: is required with username",
        ),
        (
            json!({"password": "_env:PASSWORD"}),
            "profile key username: is required with password",
        ),
        (
            json!({"username": "u", "password": "hunter2"}),
            "profile key password: expected a reference to a variable, _env:NAME, since secrets are not stored",
        ),
        (
            json!({"username": "u\0x", "password": "_env:PASSWORD"}),
            "profile key username: expected a text without control characters, got \"u\\u0000x\"",
        ),
    ] {
        assert_eq!(plan(&keys, "x").err().unwrap(), expected);
    }
}

#[test]
fn what_a_mechanism_cannot_carry_is_refused_without_a_word_of_it() {
    for (auth, password) in [
        ("plain", "a\0b"),
        ("login", "a\0b"),
        ("xoauth2", "a b"),
        ("xoauth2", "tökn"),
        ("xoauth2", "a\u{1}"),
    ] {
        let keys = json!({"username": "u", "password": "_env:PASSWORD", "auth": auth});
        let problem = plan(&keys, password).err().unwrap();
        assert!(
            problem.starts_with("profile key password: the variable must hold")
                && !problem.contains(password),
            "{problem}"
        );
    }
}

#[test]
fn nothing_of_a_variable_is_quoted() {
    let problem = plan(&json!({"host": "_env:HOST"}), "").err().unwrap();
    assert_eq!(
        problem,
        "profile key host: expected a text without control characters, got \"_env:HOST\""
    );
}

#[test]
fn other_keys_are_named_with_what_they_take() {
    for (key, value, expected) in [
        ("port", json!(0), "expected a whole number from 1 to 65535"),
        ("port", json!("25"), "expected a whole number"),
        (
            "security",
            json!("ssl"),
            "expected one of starttls, tls, none",
        ),
        (
            "auth",
            json!("cram-md5"),
            "expected one of plain, login, xoauth2",
        ),
        ("from", json!("app"), "expected user@example.org"),
        (
            "from",
            json!("App\r\nBcc: x <app@example.org>"),
            "control character",
        ),
        (
            "envelope_from",
            json!("App <app@example.org>"),
            "without a name",
        ),
        ("envelope_from", json!("<>"), "no @"),
        ("helo_name", json!("a b"), "expected a domain name"),
        (
            "helo_name",
            json!("x\r\nMAIL FROM:<y>"),
            "without control characters",
        ),
        ("helo_name", json!("[127.0.0]"), "expected a domain name"),
        ("helo_name", json!("[IPv6:x]"), "expected a domain name"),
        ("ca_file", json!("ca.pem"), "expected an absolute path"),
        ("partial_delivery", json!("yes"), "expected true or false"),
        (
            "max_message_bytes",
            json!(1),
            "expected a whole number from 1024",
        ),
    ] {
        let problem = plan(&json!({key: value}), "").err().unwrap();
        assert!(
            problem.starts_with(&format!("profile key {key}: ")) && problem.contains(expected),
            "{problem}"
        );
    }
    for name in ["[127.0.0.1]", "[IPv6:2001:db8::1]", "app.example.org"] {
        assert_eq!(
            plan(&json!({"helo_name": name}), "")
                .unwrap()
                .helo_name
                .as_deref(),
            Some(name)
        );
    }
}
