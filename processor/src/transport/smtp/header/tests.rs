use super::{Header, Mailbox};
use base64::Engine;
use proptest::prelude::*;

fn written(name: &str, value: &str) -> String {
    let mut header = Header::default();
    header.text(name, value);
    header.into_text()
}

/// What a reader makes of a header: unfolded, adjacent encoded words joined and decoded.
fn read(written: &str) -> String {
    let value = written
        .strip_suffix("\r\n")
        .unwrap()
        .split_once(": ")
        .unwrap()
        .1;
    let unfolded = value.replace("\r\n", "");
    let joined = unfolded.replace("?= =?utf-8?B?", "\u{1}");
    let Some(encoded) = joined
        .strip_prefix("=?utf-8?B?")
        .and_then(|rest| rest.strip_suffix("?="))
    else {
        return unfolded;
    };
    let bytes = encoded
        .split('\u{1}')
        .flat_map(|word| base64::prelude::BASE64_STANDARD.decode(word).unwrap());
    String::from_utf8(bytes.collect()).unwrap()
}

fn check(name: &str, value: &str) -> Result<(), TestCaseError> {
    let written = written(name, value);
    prop_assert_eq!(read(&written), value);
    for line in written.strip_suffix("\r\n").unwrap().split("\r\n") {
        prop_assert!(line.len() <= 998, "{} octets", line.len());
        prop_assert!(
            line.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
            "{line:?}"
        );
        prop_assert!(
            !line.trim().is_empty() || value.is_empty(),
            "a line of blanks in {written:?}"
        );
    }
    // RFC 2047, 5: encoded words are apart from each other and from everything else.
    prop_assert!(!written.contains("?==?"), "{written:?}");
    Ok(())
}

#[test]
fn plain_text_stays_as_it_is_and_long_text_is_folded() {
    assert_eq!(
        written("Subject", "Re: it  works (100%)"),
        "Subject: Re: it  works (100%)\r\n"
    );
    let long = "word ".repeat(40);
    let folded = written("Subject", long.trim());
    assert!(
        folded.lines().count() > 2 && folded.lines().all(|line| line.len() <= 76),
        "{folded}"
    );
}

#[test]
fn what_would_not_arrive_as_it_is_is_encoded() {
    let long = "x".repeat(1209);
    let nearly_long = "x".repeat(850);
    let gap = format!("a{}b", " ".repeat(998));
    for value in [
        "5 août",
        "ä",
        "日本語の件名",
        "👩‍👩‍👧‍👦 family",
        "שלום עולם",
        "e\u{301}",
        " leading",
        "trailing ",
        "  ",
        "=?utf-8?Q?spoof?=",
        "a =?x?= b",
        "=?",
        &long,
        &nearly_long,
        &gap,
        &"ü".repeat(200),
        "a?==?b",
    ] {
        check("Subject", value).unwrap();
    }
    for value in [
        "=?utf-8?Q?spoof?=",
        "Re: =?utf-8?Q?spoof?=",
        &long,
        "ä",
        " x",
    ] {
        assert!(
            written("Subject", value).starts_with("Subject: =?utf-8?B?"),
            "{value:?}"
        );
    }
}

#[test]
fn names_are_quoted_or_encoded_and_stay_apart_from_addresses() {
    let mailbox = |name: &str| Mailbox {
        name: Some(name.to_owned()),
        local: "a".to_owned(),
        domain: "example.org".to_owned(),
    };
    let mut header = Header::default();
    header.mailboxes(
        "To",
        &[
            mailbox("O'Neil, \"Bob\" \\ <x>"),
            mailbox("Žluťoučký, kůň"),
            mailbox("=?x?="),
            mailbox("a@b"),
        ],
    );
    header.mailboxes("Cc", &[]);
    assert_eq!(
        header.into_text(),
        "To: \"O'Neil, \\\"Bob\\\" \\\\ <x>\" <a@example.org>,\r\n \
         =?utf-8?B?xb1sdcWlb3XEjWvDvSwga8WvxYg=?= <a@example.org>,\r\n \
         =?utf-8?B?PT94Pz0=?= <a@example.org>,\r\n \
         \"a@b\" <a@example.org>\r\n"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_text_reads_back(value in "[^\\p{Cc}\u{2028}\u{2029}]{0,300}", name in "X-[A-Za-z]{1,98}") {
        check(&name, &value)?;
    }

    #[test]
    fn any_ascii_reads_back(value in "[ -~]{0,998}") {
        check("Subject", &value)?;
    }

    #[test]
    fn words_of_any_length_read_back(lengths in prop::collection::vec(0_usize..1200, 0..9)) {
        let value: Vec<String> = lengths.iter().map(|length| "w".repeat(*length)).collect();
        check("Subject", &value.join(" "))?;
    }
}
