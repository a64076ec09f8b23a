//! Profiles and messages as nobody would write them.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Any JSON, with a preference for what means something.
pub(crate) fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,12}".prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Texts that mean something somewhere.
fn text() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "_env:KEY",
        "_env:UNSET",
        "whsec_",
        "POST",
        "PUT",
        "PATCH",
        "GET",
        "X-Test",
        "x-test",
        "Host",
        "Content-Type",
        "webhook-id",
        "a: b",
        "v\r\nInjected: 1",
        "\0",
        "\u{2028}",
        "http://127.0.0.1:1/",
        "https://[::1]/",
        "text/plain",
        "Expect",
        "100-continue",
        "ü",
        "",
        " ",
        "~",
    ])
    .prop_map(str::to_owned)
}

/// An object with some of `keys`.
pub(crate) fn document(keys: &'static [&'static str]) -> impl Strategy<Value = Map<String, Value>> {
    let member = (prop::sample::select(keys), json_value());
    prop::collection::vec(member, 0..4).prop_map(|members| {
        members
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    })
}
