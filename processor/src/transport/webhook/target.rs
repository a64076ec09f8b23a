//! Where a webhook goes: the keys of a profile.

use super::headers;
use super::signature::SigningKeys;
use crate::transport::document::{Fields, Malformed, Text};
use crate::transport::mail::{BYTES_LEAST, BYTES_MOST};
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};
use std::net::IpAddr;

/// `max_message_bytes` where the profile has none.
const DEFAULT_MAX_BYTES: u64 = 262_144;
const URL_MAX: usize = 8192;

/// A receiver.
pub(super) struct Target {
    pub(super) url: Url,
    /// What may be told of the URL: scheme and host, or the reference that stands for it.
    pub(super) shown: String,
    /// Whether the URL came from a variable, so that nothing of it may be told.
    pub(super) is_secret: bool,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) keys: SigningKeys,
    pub(super) allow_private_network: bool,
    pub(super) max_bytes: u64,
}

impl Target {
    /// Reads a profile.
    pub(super) fn read(profile: &Fields<'_>) -> Result<Self, Malformed> {
        let allow_private_network = profile.boolean("allow_private_network")?.unwrap_or(false);
        let text = profile.required("url")?.line();
        // Its own complaint would quote the URL.
        let text = text.map_err(|_| malformed(profile))?;
        let url = url(profile, text, allow_private_network)?;
        let method = profile.get("method").map(|node| {
            node.one_of(&[
                ("POST", &Method::POST),
                ("PUT", &Method::PUT),
                ("PATCH", &Method::PATCH),
            ])
        });
        let max_bytes = profile.get("max_message_bytes");
        Ok(Self {
            shown: if text.is_reference() {
                text.shown().to_owned()
            } else {
                url.origin().ascii_serialization()
            },
            is_secret: text.is_reference(),
            url,
            method: method.transpose()?.unwrap_or(&Method::POST).clone(),
            headers: headers::read(profile)?,
            keys: SigningKeys::read(profile)?,
            allow_private_network,
            max_bytes: match max_bytes {
                Some(bytes) => bytes.integer(BYTES_LEAST, BYTES_MOST)?,
                None => DEFAULT_MAX_BYTES,
            },
        })
    }

    /// The address in the URL, if it has one instead of a name. Whatever notation it was written in, the URL's parser has made it one of two.
    pub(super) fn literal_address(&self) -> Option<IpAddr> {
        let host = self.url.host_str()?;
        let host = host.strip_prefix('[').unwrap_or(host);
        host.strip_suffix(']').unwrap_or(host).parse().ok()
    }

    /// The port to connect to.
    pub(super) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(443)
    }
}

fn url(
    profile: &Fields<'_>,
    text: Text<'_>,
    allow_private_network: bool,
) -> Result<Url, Malformed> {
    let text = text.expose();
    // The parser would take blanks away and go on.
    if text.len() > URL_MAX || text.contains(' ') {
        return Err(malformed(profile));
    }
    let url = Url::parse(text).map_err(|_| malformed(profile))?;
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none()
        && url.host_str().is_some_and(|host| !host.is_empty());
    match url.scheme() {
        "https" if is_plain => Ok(url),
        "http" if is_plain && allow_private_network => Ok(url),
        "http" if is_plain => Err(profile.malformed(
            "url",
            "expected https://; http:// needs allow_private_network",
        )),
        _ => Err(malformed(profile)),
    }
}

fn malformed(profile: &Fields<'_>) -> Malformed {
    profile.malformed(
        "url",
        format!("expected https://host/path of up to {URL_MAX} characters, without user, blanks, fragment and control characters"),
    )
}

#[cfg(test)]
mod tests {
    use super::Target;
    use crate::transport::document::Fields;
    use crate::transport::secrets::{Resolved, Secrets};
    use reqwest::Method;
    use serde_json::{Value, json};

    fn read(profile: &Value) -> Result<Target, String> {
        let secrets = Resolved::default();
        let fields = Fields::of_profile(profile, &secrets).unwrap();
        Target::read(&fields).map_err(|malformed| malformed.detail())
    }

    #[test]
    fn a_url_is_enough() {
        let target = read(&json!({"url": "https://Example.org/hook?t=1"})).unwrap();
        assert_eq!(target.url.as_str(), "https://example.org/hook?t=1");
        assert_eq!(target.shown, "https://example.org");
        assert_eq!(target.method, Method::POST);
        assert_eq!((target.port(), target.max_bytes), (443, 262_144));
        assert!(!target.allow_private_network && !target.is_secret);
    }

    #[test]
    fn what_is_no_url_for_a_webhook_is_refused_without_being_quoted() {
        for url in [
            "",
            "example.org/secret",
            "ftp://example.org/secret",
            "https://",
            "https:///secret secret",
            "https://user@example.org/secret",
            "https://:secret@example.org/",
            "https://example.org/#secret",
            " https://example.org/secret",
            "https://example.org/\nsecret",
            "https://exa mple.org/secret",
            "https://[::1/secret",
            "https://256.256.256.256/secret",
            "file:///secret",
            "data:text/plain,secret",
            "http://example.org/secret",
        ] {
            let problem = read(&json!({"url": url})).err().expect(url);
            assert!(
                problem.starts_with("profile key url: expected"),
                "{problem}"
            );
            assert!(!problem.contains("secret"), "{problem}");
        }
        let long = format!("https://example.org/{}", "x".repeat(8192));
        assert!(read(&json!({"url": long})).is_err());
    }

    #[test]
    fn http_needs_the_private_network() {
        let http = |allow: bool| {
            read(&json!({"url": "http://example.org:8080/", "allow_private_network": allow}))
        };
        assert_eq!(http(true).unwrap().port(), 8080);
        let problem = http(false).err().unwrap();
        assert!(problem.contains("allow_private_network"), "{problem}");
    }

    #[test]
    fn every_notation_of_an_address_is_an_address() {
        for (url, address) in [
            ("https://2130706433/", "127.0.0.1"),
            ("https://0x7f.1/", "127.0.0.1"),
            ("https://0177.0.0.1/", "127.0.0.1"),
            ("https://127.1./", "127.0.0.1"),
            ("https://１２７.0.0.1/", "127.0.0.1"),
            ("https://[::ffff:127.0.0.1]/", "::ffff:7f00:1"),
        ] {
            let found = read(&json!({"url": url})).unwrap().literal_address();
            assert_eq!(found, Some(address.parse().unwrap()), "{url}");
        }
        let named = read(&json!({"url": "https://localhost./"})).unwrap();
        assert_eq!(named.literal_address(), None);
    }

    #[test]
    fn a_url_from_a_variable_is_shown_as_the_reference() {
        let profile = json!({"url": "_env:HOOK"});
        let secrets = Secrets::new(
            |_| true,
            |_| Some("https://secret.example/".to_owned().into()),
        );
        let resolved = secrets.resolve(&profile).unwrap();
        let fields = Fields::of_profile(&profile, &resolved).unwrap();
        let target = Target::read(&fields).unwrap();
        assert_eq!(target.shown, "_env:HOOK");
        assert!(target.is_secret);
    }

    #[test]
    fn the_bounds_of_max_message_bytes_are_part_of_it() {
        for bytes in [1024, 104_857_600] {
            let profile = json!({"url": "https://example.org/", "max_message_bytes": bytes});
            assert_eq!(read(&profile).unwrap().max_bytes, bytes);
        }
    }

    #[test]
    fn other_keys_are_named_when_they_are_wrong() {
        for (key, value) in [
            ("method", json!("GET")),
            ("method", json!(1)),
            ("allow_private_network", json!("true")),
            ("max_message_bytes", json!(0)),
            ("max_message_bytes", json!(1023)),
            ("max_message_bytes", json!(104_857_601)),
            ("max_message_bytes", json!(1e300)),
            ("headers", json!([])),
            ("signing_secret", json!("whsec_literal")),
        ] {
            let mut profile = json!({"url": "https://example.org/"});
            profile[key] = value;
            let problem = read(&profile).err().expect(key);
            assert!(
                problem.starts_with(&format!("profile key {key}: ")),
                "{problem}"
            );
            assert!(!problem.contains("literal"), "{problem}");
        }
    }
}
