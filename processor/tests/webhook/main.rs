//! Webhooks as their receivers see them.

mod addresses;
mod answers;
mod arbitrary;
mod deadlines;
mod documents;
mod environment;
mod peer;
mod requests;
mod sending;
mod signatures;
mod unanswered;

use serde_json::{Value, json};

/// A profile for a receiver on this host.
fn profile(url: &str) -> Value {
    json!({"url": url, "allow_private_network": true, "timeout_seconds": 20})
}

/// The same with `changes`.
fn profile_with(url: &str, changes: &Value) -> Value {
    let mut profile = profile(url);
    for (key, value) in changes.as_object().expect("an object") {
        profile[key] = value.clone();
    }
    profile
}
