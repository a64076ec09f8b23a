//! What documents are read as, and what is said of those that cannot be.

use super::{Fields, Malformed};
use crate::transport::secrets::{Resolved, Secrets};
use secrecy::SecretString;
use serde_json::{Value, json};

fn message(value: &Value) -> Result<Fields<'_>, Malformed> {
    Fields::of_message(value)
}

fn resolved(profile: &Value) -> Resolved {
    let secrets = Secrets::new(
        |_| true,
        |name| Some(SecretString::from(format!("<{name}>"))),
    );
    secrets.resolve(profile).unwrap()
}

#[test]
fn a_value_that_came_from_a_variable_is_never_quoted() {
    let profile = json!({"host": "_env:HOST", "port": "_env:PORT", "password": "literal"});
    let secrets = resolved(&profile);
    let fields = Fields::of_profile(&profile, &secrets).unwrap();
    let host = fields.required_line("host").unwrap();
    assert_eq!(host.expose(), "<HOST>");
    assert_eq!(host.shown(), "_env:HOST");
    let problem = fields.required("port").unwrap().integer(1, 9).unwrap_err();
    let expected = "profile key port: expected a whole number from 1 to 9, got \"_env:PORT\"";
    assert_eq!(problem.detail(), expected);
    let secret = fields.required("password").unwrap();
    let problem = secret.secret().err().unwrap();
    assert!(
        !problem.detail().contains("literal"),
        "{}",
        problem.detail()
    );
    assert!(fields.required("host").unwrap().secret().is_ok());
}

#[test]
fn a_reference_in_a_message_is_refused_at_any_depth() {
    for value in [
        json!({"subject": "_env:A"}),
        json!({"headers": {"X-A": "_env:A"}}),
        json!({"to": ["a@example.org", "_env:A"]}),
        json!({"body": [{"deep": ["_env:A"]}]}),
    ] {
        let problem = message(&value).err().unwrap();
        assert!(problem.detail().contains("belong into the profile"));
    }
    assert!(message(&json!({"subject": "about _env:A"})).is_ok());
}

#[test]
fn reserved_keys_are_refused_and_unknown_ones_ignored() {
    assert!(message(&json!({"new_key": {"a": 1}})).is_ok());
    let value = json!({"_new": 1});
    let problem = message(&value).err().unwrap();
    assert!(problem.summary().contains("message key _new"));
    assert!(
        message(&json!({"headers": {"_x": "1"}})).is_ok(),
        "top level only"
    );
}

#[test]
fn a_document_must_be_an_object() {
    for value in [json!(null), json!([]), json!("a"), json!(1)] {
        let problem = message(&value).err().unwrap();
        assert!(problem.detail().starts_with("message: expected an object"));
    }
}

#[test]
fn whole_numbers_may_be_written_as_floats_and_nothing_else_is_one() {
    let value = json!({
        "a": 30, "b": 30.0, "c": 1e300, "d": "30", "e": 0, "f": -1, "g": 1.5, "h": true, "i": [30],
    });
    let fields = message(&value).unwrap();
    let read = |key| fields.required(key).unwrap().integer(1, u64::MAX).ok();
    assert_eq!(read("a"), Some(30));
    assert_eq!(read("b"), Some(30));
    assert_eq!(read("c"), Some(u64::MAX), "larger than any limit");
    for key in ["d", "e", "f", "g", "h", "i"] {
        assert_eq!(read(key), None, "{key}");
    }
}

#[test]
fn lines_have_no_line_ends_of_any_kind() {
    for text in [
        "",
        "a\nb",
        "a\rb",
        "a\0b",
        "a\u{85}b",
        "a\u{2028}b",
        "a\u{2029}b",
        "\t",
    ] {
        let value = json!({"subject": text});
        let problem = message(&value).unwrap().line("subject").err();
        assert!(problem.is_some(), "{text:?}");
    }
    let value = json!({"subject": "Grüße, 你好"});
    let text = message(&value).unwrap().line("subject").unwrap().unwrap();
    assert_eq!(text.expose(), "Grüße, 你好");
}

#[test]
fn a_summary_names_the_key_and_holds_no_content() {
    let value = json!({"headers": {"X-Canary": 7}, "subject": ["canary"]});
    let fields = message(&value).unwrap();
    let headers = fields.required("headers").unwrap().object().unwrap();
    let problem = headers.required_line("X-Canary").err().unwrap();
    assert_eq!(problem.summary(), "message key headers: expected a string");
    assert!(problem.detail().contains("headers.X-Canary"));
    let problem = fields.line("subject").err().unwrap();
    assert!(!problem.summary().contains("canary"));
}

#[test]
fn long_values_are_shortened() {
    let value = json!({"to": vec!["x"; 1000]});
    let problem = message(&value).unwrap().line("to").err().unwrap();
    assert!(problem.detail().ends_with('…'), "{}", problem.detail());
    assert!(problem.detail().chars().count() < 200);
}

#[test]
fn of_a_message_addresses_are_quoted_and_nothing_else() {
    let value = json!({"to": ["c4nary"], "cc": 7, "subject": ["c4nary"], "text": {"a": "c4nary"}, "attachments": [{"filename": ["c4nary"]}]});
    let fields = message(&value).unwrap();
    let entry = fields.required("to").unwrap().array().unwrap();
    let problem = entry.first().unwrap().malformed("expected a mailbox");
    assert_eq!(
        problem.detail(),
        "message key to[0]: expected a mailbox, got \"c4nary\""
    );
    assert!(fields.line("cc").err().unwrap().detail().ends_with("got 7"));
    let file = fields.required("attachments").unwrap().array().unwrap();
    let file = file.first().unwrap().object().unwrap();
    for problem in [
        fields.line("subject"),
        fields.text("text"),
        file.line("filename"),
    ] {
        let detail = problem.err().unwrap().detail();
        assert!(
            !detail.contains("c4nary") && detail.ends_with("expected a string"),
            "{detail}"
        );
    }
    let problem = message(&json!(["c4nary"])).err().unwrap();
    assert_eq!(problem.detail(), "message: expected an object");
}
