use super::super::tests::read;
use crate::transport::mail::Mailbox;
use serde_json::json;

fn parse(text: &str) -> Result<Mailbox, String> {
    read(&json!({"to": text})).map(|mut mail| mail.to.remove(0))
}

fn parts(text: &str) -> (Option<String>, String) {
    let mailbox = parse(text).unwrap_or_else(|problem| panic!("{problem}"));
    let address = mailbox.address();
    (mailbox.name, address)
}

#[test]
fn names_are_told_from_addresses() {
    for (text, name, address) in [
        ("a@example.org", None, "a@example.org"),
        (" \ta@example.org \t", None, "a@example.org"),
        ("<a@example.org>", None, "a@example.org"),
        ("Ann <a@example.org>", Some("Ann"), "a@example.org"),
        ("Ann<a@example.org>", Some("Ann"), "a@example.org"),
        (
            "Doe, Ann <a@example.org>",
            Some("Doe, Ann"),
            "a@example.org",
        ),
        ("a@b <a@example.org>", Some("a@b"), "a@example.org"),
        (
            "Žluťoučký, kůň <a@example.org>",
            Some("Žluťoučký, kůň"),
            "a@example.org",
        ),
        (
            "\"O'Neil, \\\"Bob\\\" <x>\" <a@example.org>",
            Some("O'Neil, \"Bob\" <x>"),
            "a@example.org",
        ),
        ("=?x?= <a@example.org>", Some("=?x?="), "a@example.org"),
        ("\"\" <a@example.org>", None, "a@example.org"),
    ] {
        assert_eq!(
            parts(text),
            (name.map(str::to_owned), address.to_owned()),
            "{text:?}"
        );
    }
}

#[test]
fn domains_become_lower_case_ascii_and_local_parts_stay() {
    for (text, address) in [
        ("A.b+c@EXAMPLE.Org", "A.b+c@example.org"),
        ("a@bücher.example", "a@xn--bcher-kva.example"),
        ("a@BÜCHER.example", "a@xn--bcher-kva.example"),
        ("用户@例子.测试", "用户@xn--fsqu00a.xn--0zwm56d"),
        ("\"a b\"@example.org", "\"a b\"@example.org"),
        ("\"a@b\\\"\"@example.org", "\"a@b\\\"\"@example.org"),
        ("root@localhost", "root@localhost"),
    ] {
        assert_eq!(parts(text).1, address, "{text:?}");
    }
}

#[test]
fn what_is_no_address_is_refused_with_the_reason() {
    let long_local = format!("{}@example.org", "x".repeat(65));
    let long = format!("x@{}.example", vec!["y".repeat(60); 5].join("."));
    let long_name = format!("{} <a@example.org>", "n".repeat(257));
    let long_address = format!(
        "{}@{}.org",
        "x".repeat(64),
        vec!["y".repeat(60); 3].join(".")
    );
    assert_eq!(long_address.len(), 251);
    for (text, expected) in [
        ("", "no @"),
        ("a", "no @"),
        ("@example.org", "empty part"),
        (".a@example.org", "empty part"),
        ("a..b@example.org", "empty part"),
        ("a b@example.org", "not accepted there"),
        ("a@example.org b@example.org", "no domain name"),
        ("a@example.org, b@example.org", "no domain name"),
        ("a@b@example.org", "no domain name"),
        ("a\u{a0}@example.org", "not accepted there"),
        ("a\u{200b}@example.org", "not accepted there"),
        ("\u{a0}a@example.org", "not accepted there"),
        ("a@exa mple.org", "no domain name"),
        ("a@", "no domain name"),
        ("a@example.org.", "no domain name"),
        ("a@-example.org", "no domain name"),
        ("a@exa_mple.org", "no domain name"),
        ("a@[192.0.2.1]", "no domain name"),
        ("a@xn--\u{ff20}.org", "no domain name"),
        ("a@example.org\r\n", "control character"),
        ("a@example.org\nRCPT TO:<x@y>", "control character"),
        ("A\r\nBcc: x <a@example.org>", "control character"),
        ("A\0 <a@example.org>", "control character"),
        ("A\u{2028} <a@example.org>", "control character"),
        ("a@example.org>", "without a <"),
        ("A <b <a@example.org>", "not accepted there"),
        ("\"A <a@example.org>", "has no end"),
        ("\"A\" a@example.org>", "no < after"),
        ("\"A\" B <a@example.org>", "no < after"),
        ("A \"B\" <a@example.org>", "must be quoted"),
        ("\"a\"b\"@example.org", "quoted part"),
        ("\"ü\"@example.org", "quoted part"),
        ("\"a\\\"@example.org", "quoted part"),
        (&long_local, "64 octets"),
        (&long, "no domain name"),
        (&long_name, "256 characters"),
    ] {
        let problem = parse(text).expect_err(text);
        assert!(problem.contains(expected), "{text:?}: {problem}");
        assert!(
            problem.starts_with("message key to: expected user@example.org or Name"),
            "{problem}"
        );
    }
    assert!(parse(&long_address).is_ok());
    let too_long = format!(
        "{}@{}.orgs.xy",
        "x".repeat(64),
        vec!["y".repeat(60); 3].join(".")
    );
    assert!(parse(&too_long).unwrap_err().contains("254 octets"));
}

#[test]
fn an_address_in_an_ascii_local_part_of_another_script_is_ascii_in_its_domain() {
    let mailbox = parse("x@ПРИМЕР.example").unwrap();
    assert!(mailbox.domain.is_ascii() && mailbox.domain == mailbox.domain.to_lowercase());
}
