//! The page of section 5, from the shipped configuration file: key, default and explanation stand there and nowhere else.
//!
//! The file is a list of paragraphs. One that is comments only tells of the file or of the section; in any other, comments come first
//! and the key they explain is the last line: `KEY = value`, or `#KEY = value` where there is no fixed default and the value is an example.

use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

const SHIPPED: &str = include_str!("../../../conf/pepsi.conf");

/// A section of the file.
pub(super) struct Section {
    pub(super) name: String,
    pub(super) keys: Vec<Key>,
}

/// A key and what the file says about it.
pub(super) struct Key {
    pub(super) name: String,
    pub(super) text: String,
    value: String,
    is_example: bool,
}

/// What the file holds, in its order.
pub(super) fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for paragraph in SHIPPED.split("\n\n") {
        let name = paragraph
            .trim()
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(name) = name {
            sections.push(Section {
                name: name.to_owned(),
                keys: Vec::new(),
            });
        } else if let (Some(section), Some(key)) = (sections.last_mut(), key(paragraph)) {
            section.keys.push(key);
        }
    }
    sections
}

fn key(paragraph: &str) -> Option<Key> {
    let (comments, last) = paragraph.trim_end().rsplit_once('\n')?;
    let (name, value) = last.trim_start_matches('#').split_once(" = ")?;
    Some(Key {
        name: name.to_owned(),
        text: joined(comments),
        value: value.to_owned(),
        is_example: last.starts_with('#'),
    })
}

/// Comment lines as running text.
fn joined(comments: &str) -> String {
    let lines = comments
        .lines()
        .map(|line| line.trim_start_matches('#').trim());
    lines.collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// The whole page.
pub(super) fn page() -> String {
    let mut roff = Roff::default();
    let source = format!("pepsi.conf {}", env!("CARGO_PKG_VERSION"));
    roff.control("TH", ["pepsi.conf", "5", "", &source, "PEPSI and pg_relay"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(
        "pepsi.conf - configuration of pg-relay-processor and pepsi-failure-bouncer",
    )]);
    roff.control("SH", ["SYNOPSIS"]);
    roff.text([roman(shared::config::DEFAULT_PATH)]);
    roff.control("SH", ["DESCRIPTION"]);
    let head = SHIPPED.split("\n\n").next().unwrap_or_default();
    // Its first line is the title of the file; the blank comment line behind it ends it.
    let (_, head) = head.split_once("\n#\n").unwrap_or(("", head));
    roff.text([roman("The file is TOML. "), roman(joined(head))]);
    for section in sections() {
        let title = format!("[{}]", section.name);
        roff.control("SH", [title.as_str()]);
        for key in section.keys {
            entry(&mut roff, key);
        }
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text([
        bold("pg-relay-processor"),
        roman("(1), "),
        bold("pepsi-failure-bouncer"),
        roman("(1)"),
    ]);
    roff.render()
}

fn entry(roff: &mut Roff, key: Key) {
    roff.control("TP", []);
    let value: [Inline; 2] = if key.is_example {
        [roman(", for example "), italic(key.value)]
    } else {
        [roman(" = "), italic(key.value)]
    };
    roff.text([[bold(key.name)].as_slice(), &value].concat());
    roff.text([roman(key.text)]);
}
