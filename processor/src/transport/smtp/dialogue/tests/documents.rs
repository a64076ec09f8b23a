//! Profiles and messages as they may come from anywhere.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Texts that somebody may have written to break out of their place.
fn hostile() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "\r\n",
        "\n",
        "\r",
        "\0",
        "\u{2028}",
        "\u{85}",
        "\t",
        " ",
        ".",
        "\r\n.\r\n",
        "\nRCPT TO:<evil@example.net>",
        "\r\nBcc: evil@example.net",
        ">",
        "<",
        "\"",
        "\\",
        ",",
        ";",
        ":",
        "@",
        "=?utf-8?Q?=0D=0A?=",
        "=?",
        "?=",
        "ü",
        "👩‍👩‍👧‍👦",
        "a",
        "user",
        "example.org",
        "user@example.org",
        "Name <user@example.org>",
        "日本語",
        "x.y",
        "_env:SECRET",
        "MAIL FROM:<x>",
        "https://",
        "mailto:a@b",
        "text/plain",
        "YQ==",
    ]);
    prop_oneof![
        4 => prop::collection::vec(parts, 0..6).prop_map(|parts| parts.concat()),
        1 => any::<String>(),
        1 => (prop::sample::select(vec!["x", "x ", "ü", ".", "\n.", "x\r"]), 0_usize..1500).prop_map(|(part, times)| part.repeat(times)),
    ]
}

/// A text that is what a key takes, three times out of four.
fn mostly(good: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => prop::sample::select(good).prop_map(Value::from),
        1 => hostile().prop_map(Value::from),
    ]
}

const ADDRESSES: &[&str] = &[
    "a@example.org",
    "B <b@example.org>",
    " c@bücher.example ",
    "\"D, x\" <d@example.org>",
    "ü@example.org",
    "\"q .\"@example.org",
    "a@example.org",
];
const TEXTS: &[&str] = &["", "text", ".", "\n.\n", "a\r.\rb", "5 août\n", "=?x?="];

fn list(entry: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec(entry, 0..4).prop_map(Value::from)
}

/// A message in which most keys are well-formed; any of them may be missing.
pub(super) fn near_messages() -> impl Strategy<Value = Value> {
    let attachment = (mostly(&["a.txt", "ü, \"x\".pdf"]), mostly(&["text/plain", "image/png; name=\"x y\""]), mostly(&["", "YQ==", "Lg0KLgo="]), mostly(&["id@x"]))
        .prop_map(|(name, kind, content, id)| json!({"filename": name, "content_type": kind, "content_base64": content, "content_id": id}));
    let header = (
        prop_oneof![3 => prop::sample::select(vec!["X-A", "x-a", "List-Id", "References", "Bcc", "X-A\r\nBcc"]).prop_map(str::to_owned), 1 => hostile()],
        mostly(TEXTS),
    );
    let headers = prop::collection::vec(header, 0..3)
        .prop_map(|headers| Value::from(headers.into_iter().collect::<Map<String, Value>>()));
    let rest = (
        mostly(&["low", "normal", "high"]),
        mostly(&["<id@example.org>", "<a@b>"]),
        list(mostly(&["https://example.org/u", "mailto:u@example.org"])),
    );
    let keys = (
        list(mostly(ADDRESSES)),
        list(mostly(ADDRESSES)),
        list(mostly(ADDRESSES)),
        mostly(ADDRESSES),
        hostile().prop_map(Value::from),
        hostile().prop_map(Value::from),
        mostly(TEXTS),
        list(attachment),
        headers,
        rest,
    );
    (keys, any::<u16>()).prop_map(
        |(
            (
                to,
                cc,
                bcc,
                reply_to,
                subject,
                text,
                html,
                attachments,
                headers,
                (importance, id, uris),
            ),
            present,
        )| {
            let keys = [
                ("to", to),
                ("cc", cc),
                ("bcc", bcc),
                ("reply_to", reply_to),
                ("subject", subject),
                ("text", text),
                ("html", html),
                ("attachments", attachments),
                ("headers", headers),
                ("importance", importance),
                ("message_id", id),
                ("list_unsubscribe", uris),
            ];
            let keys = keys
                .into_iter()
                .enumerate()
                .filter(|(place, _)| present & (1 << place) != 0);
            keys.map(|(_, (key, value))| (key.to_owned(), value))
                .collect::<Map<String, Value>>()
                .into()
        },
    )
}

pub(super) fn near_profiles() -> impl Strategy<Value = Value> {
    let keys = (
        mostly(&["mail.example.org", "192.0.2.1"]),
        mostly(ADDRESSES),
        mostly(&["", "b@example.org"]),
        mostly(&["app.example.org", "[192.0.2.1]"]),
        mostly(&["user"]),
        mostly(&["plain", "login"]),
        any::<[bool; 4]>(),
    );
    keys.prop_map(|(host, from, envelope, helo, user, auth, with)| {
        let mut profile = json!({"host": host, "from": from});
        if with[0] {
            profile["envelope_from"] = envelope;
        }
        if with[1] {
            profile["helo_name"] = helo;
        }
        if with[2] {
            profile["username"] = user;
            profile["password"] = json!("_env:PASSWORD");
            profile["auth"] = auth;
        }
        profile["partial_delivery"] = json!(with[3]);
        profile
    })
}

/// JSON of any shape, under the keys that are looked at.
pub(super) fn any_document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        hostile().prop_map(Value::from),
        mostly(ADDRESSES),
    ];
    let key = prop::sample::select(vec![
        "to",
        "cc",
        "bcc",
        "subject",
        "text",
        "html",
        "attachments",
        "headers",
        "importance",
        "message_id",
        "list_unsubscribe",
        "host",
        "port",
        "security",
        "username",
        "password",
        "auth",
        "from",
        "helo_name",
        "envelope_from",
        "partial_delivery",
        "filename",
        "content_base64",
        "X-A",
        "_x",
        "a.b",
    ]);
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..8).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<String, Value>>()
                .into()),
        ]
    })
}
