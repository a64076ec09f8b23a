use super::{Answer, Gathering, Malformed, enhanced};
use crate::transport::veil::Veil;
use proptest::prelude::*;
use shared::failure::Enhanced;

/// The reply that `text`, of lines, begins with.
fn read(text: &[u8]) -> Result<Option<Answer>, Malformed> {
    let mut gathering = Gathering::default();
    for line in text.split(|byte| *byte == b'\n') {
        if let Some(answer) = gathering.take(line, &Veil::default())? {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}

fn answer(text: &[u8]) -> Answer {
    read(text).unwrap().unwrap()
}

#[test]
fn any_text_and_any_three_digits_are_a_reply() {
    for (text, codes, shown) in [
        (&b"250 2.1.5 Ok"[..], "250 2.1.5", "250 2.1.5 Ok"),
        (b"550", "550", "550"),
        (b"550 ", "550", "550"),
        (b"571 no", "571", "571 no"),
        (b"585 5.7.1", "585 5.7.1", "585 5.7.1"),
        (b"550 bo\xeete inconnue", "550", "550 bo\u{fffd}te inconnue"),
        (b"550 a\x1b[31m\0b\x7f", "550", "550 a [31m b"),
        (b"000\tx", "000", "000 x"),
        (b"999 x", "999", "999 x"),
    ] {
        let answer = answer(text);
        assert_eq!(answer.shown(usize::MAX), shown, "{text:?}");
        assert_eq!(answer.codes(), codes, "{text:?}");
    }
}

#[test]
fn all_lines_of_a_reply_are_told_in_one() {
    let answer = answer(b"550-5.7.1 a\n550-\n550 5.7.1 b\n250 never");
    assert_eq!(answer.shown(usize::MAX), "550 5.7.1 a  5.7.1 b");
    assert_eq!(answer.codes(), "550 5.7.1");
    assert_eq!(answer.lines().count(), 3);
}

#[test]
fn of_several_codes_the_worst_counts() {
    for (text, code) in [
        (&b"250-fine\n550 not"[..], 550),
        (b"550-not\n250 fine", 550),
        (b"421-x\n250 y", 421),
        (b"250-x\n354 y", 354),
        (b"250-x\n251 y", 251),
    ] {
        assert_eq!(answer(text).code(), code, "{text:?}");
    }
    assert_eq!(
        answer(b"250-2.0.0 fine\n550 5.1.1 not").codes(),
        "550 5.1.1"
    );
}

#[test]
fn other_lines_are_no_reply() {
    for text in [
        &b""[..],
        b"25",
        b"2500 x",
        b"25x ok",
        b"hello",
        b" 250 ok",
        b"250x",
        b"HTTP/1.1 400",
        "２５０ ok".as_bytes(),
        b"250-x\ny",
    ] {
        assert_eq!(read(text), Err(Malformed), "{text:?}");
    }
    assert_eq!(read(b"250-x"), Ok(None));
}

#[test]
fn enhanced_codes_are_read_where_they_are_ones() {
    assert_eq!(enhanced("4.7.1 x").unwrap(), (Enhanced(4, 7, 1), "x"));
    assert_eq!(enhanced("5.7.139").unwrap(), (Enhanced(5, 7, 139), ""));
    for text in [
        "",
        "3.1.1 x",
        "5.1 x",
        "5.1.1.1 x",
        "5.1.1234 x",
        "5..1 x",
        "5.1.x",
        "5.1.+1 x",
        "10.1.1 x",
    ] {
        assert_eq!(enhanced(text), None, "{text:?}");
    }
}

#[test]
fn a_remark_is_what_is_said_besides_the_codes() {
    assert_eq!(
        answer(b"250 2.0.0 Ok: queued as 4XYZ")
            .remark(200)
            .as_deref(),
        Some("Ok: queued as 4XYZ")
    );
    assert_eq!(
        answer(b"250-2.0.0 one\n250 two").remark(200).as_deref(),
        Some("one two")
    );
    assert_eq!(answer(b"250").remark(200), None);
    assert_eq!(answer(b"250 2.0.0").remark(200), None);
    let long = [b"250 ", "ü".repeat(500).as_bytes()].concat();
    assert_eq!(answer(&long).remark(200).unwrap(), "ü".repeat(200));
}

#[test]
fn a_text_has_at_most_a_thousand_characters() {
    let long = [
        b"550-",
        "ü".repeat(700).as_bytes(),
        b"\n550 ",
        "ü".repeat(700).as_bytes(),
    ]
    .concat();
    assert_eq!(answer(&long).shown(usize::MAX).chars().count(), 1004);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn whatever_a_server_writes_is_read_or_refused(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..5), begins in "[0-9]{3}[- ]?") {
        let text: Vec<u8> = lines.iter().flat_map(|line| [begins.as_bytes(), line, b"\n"].concat()).collect();
        if let Ok(Some(answer)) = read(&text) {
            prop_assert!(answer.code() <= 999);
            prop_assert!(!answer.shown(usize::MAX).contains(crate::transport::document::breaks_lines));
        }
    }
}
