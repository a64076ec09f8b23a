//! Profiles and messages as text, as any database may hold them: what a jsonb is printed as, and what only looks like it.

use proptest::prelude::*;
use serde_json::Value;

/// Content of a message; it is nowhere else.
pub(super) const MARK: &str = "c0ntent";

/// What makes a document a likely one: members that it begins with, and values in JSON that a key takes, both of them to be replaced by others.
pub(super) struct Shape {
    begin: &'static str,
    keys: &'static [(&'static str, &'static [&'static str])],
}

const DOMAINS: &[&str] = &[
    "[]",
    r#""example.org""#,
    r#"["example.org", "bücher.example"]"#,
];
const BYTES: &[&str] = &["1024", "1048576.0", "104857600"];
const SECONDS: &[&str] = &["1", "[1, 2.0]", "30", "1e2"];
const ADDRESSES: &[&str] = &[
    r#""a@example.org""#,
    r#"["B <b@example.org>", " c@bücher.example "]"#,
    r#""\"D, x\" <d@example.org>""#,
    "[]",
];

pub(super) static SMTP: Shape = Shape {
    begin: r#""host": "127.0.0.1", "port": 1, "from": "App <app@example.org>", "security": "none""#,
    keys: &[
        ("host", &[r#""::1""#, r#""127.0.0.2""#]),
        ("port", &["1", "1.0"]),
        ("security", &[r#""none""#, r#""tls""#, r#""starttls""#]),
        ("username", &[r#""user""#, r#""_env:LINE""#]),
        ("password", &[r#""_env:SECRET""#]),
        ("auth", &[r#""plain""#, r#""login""#, r#""xoauth2""#]),
        ("from", &[r#""app@example.org""#, r#""_env:ADDRESS""#]),
        ("helo_name", &[r#""[192.0.2.1]""#, r#""app.example.org""#]),
        ("ca_file", &[r#""/dev/null""#]),
        ("envelope_from", &[r#""""#, r#""b@example.org""#]),
        ("partial_delivery", &["true", "false"]),
        ("allowed_recipient_domains", DOMAINS),
        ("max_message_bytes", BYTES),
        ("timeout_seconds", SECONDS),
        ("backoff_seconds", SECONDS),
    ],
};

pub(super) static M365: Shape = Shape {
    begin: r#""tenant_id": "t.example", "client_id": "0-1", "client_secret": "_env:SECRET", "sender": "a@example.org", "authority_url": "http://127.0.0.1:1""#,
    keys: &[
        ("tenant_id", &[r#""_env:LINE""#]),
        ("client_id", &[r#""1-2-3""#]),
        ("client_secret", &[r#""_env:LINE""#]),
        ("sender", &[r#""_env:ADDRESS""#]),
        ("save_to_sent_items", &["true", "false"]),
        (
            "authority_url",
            &[r#""http://localhost:1/x""#, r#""http://[::1]:1""#],
        ),
        ("graph_url", &[r#""https://127.0.0.1:1/""#]),
        ("allowed_recipient_domains", DOMAINS),
        ("max_message_bytes", BYTES),
        ("timeout_seconds", SECONDS),
        ("backoff_seconds", SECONDS),
    ],
};

pub(super) static WEBHOOK: Shape = Shape {
    begin: r#""url": "http://127.0.0.1:1/", "allow_private_network": true"#,
    keys: &[
        (
            "url",
            &[r#""https://127.0.0.1:1/x?y""#, r#""http://[::1]:1""#],
        ),
        ("method", &[r#""POST""#, r#""PUT""#, r#""PATCH""#]),
        (
            "headers",
            &["{}", r#"{"X-A": "b"}"#, r#"{"Authorization": "_env:LINE"}"#],
        ),
        ("signing_secret", &[r#""_env:SECRET""#]),
        ("allow_private_network", &["true", "false"]),
        ("max_message_bytes", BYTES),
        ("timeout_seconds", SECONDS),
        ("backoff_seconds", SECONDS),
    ],
};

pub(super) static MAIL: Shape = Shape {
    begin: r#""to": "a@example.org""#,
    keys: &[
        ("to", ADDRESSES),
        ("cc", ADDRESSES),
        ("bcc", ADDRESSES),
        ("reply_to", ADDRESSES),
        ("subject", &[r#""c0ntent""#, r#""""#]),
        ("text", &[r#""c0ntent\n.\n""#]),
        ("html", &[r#""<p>c0ntent""#]),
        (
            "attachments",
            &[
                "[]",
                r#"[{"filename": "c0ntent.pdf", "content_base64": "YQ=="}]"#,
            ],
        ),
        (
            "headers",
            &["{}", r#"{"X-A": "c0ntent"}"#, r#"{"List-Id": "<l>"}"#],
        ),
        ("importance", &[r#""low""#, r#""high""#]),
        ("message_id", &[r#""<c0ntent@example.org>""#]),
        ("list_unsubscribe", &[r#""mailto:u@example.org""#]),
    ],
};

pub(super) static CALL: Shape = Shape {
    begin: r#""body": {}"#,
    keys: &[
        ("body", &[r#""c0ntent""#, "1e400", r#"{"c0ntent": [1.50]}"#]),
        ("headers", &["{}", r#"{"X-B": "c0ntent"}"#]),
        ("webhook_id", &[r#""c0ntent_1-A""#]),
    ],
};

/// An object that has most of its keys from `shape`; of a key that comes twice the last one counts.
pub(super) fn document(shape: &'static Shape) -> impl Strategy<Value = String> {
    let known = prop::sample::select(shape.keys).prop_flat_map(|(key, good)| {
        let value = prop_oneof![3 => prop::sample::select(good).prop_map(str::to_owned), 1 => string(), 1 => json()];
        value.prop_map(move |value| format!("{}: {value}", quoted(key)))
    });
    let member = prop_oneof![9 => known, 1 => (key(), json()).prop_map(|(key, value)| format!("{key}: {value}"))];
    let object = prop::collection::vec(member, 0..6)
        .prop_map(|members| [vec![shape.begin.to_owned()], members].concat())
        .prop_map(|members| format!("{{{}}}", members.join(", ")));
    prop_oneof![29 => object, 1 => json()]
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A string that somebody may have written to break out of its place.
fn string() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        MARK,
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
        "\nRCPT TO:<e@example.net>",
        "\r\nBcc: e@example.net",
        ">",
        "<",
        "\"",
        "\\",
        ",",
        ";",
        ":",
        "@",
        "/",
        "=?utf-8?Q?=0D=0A?=",
        "ü",
        "👩‍👩‍👧‍👦",
        "a",
        "a@example.org",
        "_env:SECRET",
        "_env:LINE",
        "_env:NONE",
        "https://",
        "[::1]",
        "%zz",
        "127.0.0.1",
        "mailto:a@b",
        "text/plain",
        "YQ==",
        "..",
    ]);
    let text = prop_oneof![
        4 => prop::collection::vec(parts, 0..5).prop_map(|parts| parts.concat()),
        1 => any::<String>(),
        1 => (prop::sample::select(vec!["x", "ü", "x.", "x\r"]), 0_usize..1500).prop_map(|(part, times)| part.repeat(times)),
    ];
    text.prop_map(|text| quoted(&text))
}

fn key() -> impl Strategy<Value = String> {
    let meaning = prop::sample::select(vec![
        "$serde_json::private::Number",
        "$serde_json::private::RawValue",
        "",
        "_x",
        "a.b",
        "a[0]",
        "__proto__",
        "X-A",
        "Host",
        "filename",
        "content_base64",
    ]);
    prop_oneof![3 => meaning.prop_map(quoted), 1 => "\\PC{0,9}".prop_map(|key| quoted(&key))]
}

/// Any JSON. Numbers are of any size, and nesting is of any depth: some of it no parser of ours takes.
fn json() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        prop::sample::select(vec![
            "0",
            "-0.0",
            "30",
            "1e400",
            "-1e-400",
            "18446744073709551616",
            "9007199254740993.0",
            "123456789012345678901234567890.0123456789"
        ])
        .prop_map(str::to_owned),
        any::<i64>().prop_map(|number| number.to_string()),
        (1_usize..500).prop_map(|digits| "9".repeat(digits)),
    ];
    let word = prop::sample::select(vec!["null", "true", "false"]).prop_map(str::to_owned);
    // What the parser keeps a number in while it reads it, written by somebody else.
    let forged = prop_oneof![number.clone().prop_map(|number| quoted(&number)), string()]
        .prop_map(|text| format!(r#"{{"$serde_json::private::Number": {text}}}"#));
    let leaf = prop_oneof![2 => number, 2 => word, 3 => string(), 1 => forged];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4)
            .prop_map(|entries| format!("[{}]", entries.join(",")));
        let object = prop::collection::vec((key(), inner.clone()), 0..4)
            .prop_map(|members| {
                members
                    .into_iter()
                    .map(|(key, value)| format!("{key}:{value}"))
            })
            .prop_map(|members| format!("{{{}}}", members.collect::<Vec<_>>().join(",")));
        let deep = (inner, 0_usize..150, any::<bool>()).prop_map(|(inner, depth, is_list)| {
            let (open, close) = if is_list {
                ("[", "]")
            } else {
                (r#"{"a":"#, "}")
            };
            format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
        });
        prop_oneof![3 => list, 3 => object, 1 => deep]
    })
}
