//! Who sends, and through which servers: the keys of a profile.

use super::tokens::Key;
use crate::transport::document::{Fields, Malformed};
use crate::transport::mail::Mailbox;
use reqwest::Url;
use std::net::IpAddr;

const AUTHORITY: &str = "https://login.microsoftonline.com";
const GRAPH: &str = "https://graph.microsoft.com";

/// An application that may send as a mailbox.
pub(super) struct Account<'a> {
    tenant: &'a str,
    pub(super) client: &'a str,
    /// The client secret.
    pub(super) secret: &'a str,
    sender: String,
    pub(super) save_to_sent_items: bool,
    authority: Url,
    graph: Url,
}

impl<'a> Account<'a> {
    /// Reads a profile.
    pub(super) fn read(profile: &Fields<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            tenant: identifier(profile, "tenant_id")?,
            client: identifier(profile, "client_id")?,
            secret: profile.required("client_secret")?.secret()?.expose(),
            sender: Mailbox::read_bare(&profile.required("sender")?)?.address(),
            save_to_sent_items: profile.boolean("save_to_sent_items")?.unwrap_or(true),
            authority: base_url(profile, "authority_url", AUTHORITY)?,
            graph: base_url(profile, "graph_url", GRAPH)?,
        })
    }

    /// Where tokens come from.
    pub(super) fn token_url(&self) -> Url {
        below(&self.authority, &[self.tenant, "oauth2", "v2.0", "token"])
    }

    /// Where mails go to.
    pub(super) fn send_mail_url(&self) -> Url {
        below(&self.graph, &["v1.0", "users", &self.sender, "sendMail"])
    }

    /// What the token is asked for: all that the application was granted.
    pub(super) fn scope(&self) -> String {
        format!("{}/.default", self.graph.origin().ascii_serialization())
    }

    /// Under which its token is kept.
    pub(super) fn key(&self) -> Key {
        Key::new(
            self.authority.as_str(),
            self.tenant,
            self.client,
            self.secret,
            &self.scope(),
        )
    }
}

/// A GUID or a domain name. It begins with a letter or a digit, so that it is never "..", which paths resolve.
fn identifier<'a>(profile: &Fields<'a>, key: &str) -> Result<&'a str, Malformed> {
    const LENGTH_MAX: usize = 253;
    let text = profile.required_line(key)?.expose();
    let is_identifier = text.len() <= LENGTH_MAX
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    is_identifier
        .then_some(text)
        .ok_or_else(|| profile.malformed(key, "expected a GUID or a domain name"))
}

fn base_url(profile: &Fields<'_>, key: &str, default: &str) -> Result<Url, Malformed> {
    let malformed = || {
        profile.malformed(
            key,
            "expected https://host/path without user, query and fragment, or http:// on loopback",
        )
    };
    let text = match profile.line(key)? {
        Some(text) => text.expose(),
        None => default,
    };
    let url = Url::parse(text).map_err(|_| malformed())?;
    let is_plain = !text.contains(' ')
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    if is_plain && is_safe {
        Ok(url)
    } else {
        Err(malformed())
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn below(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    // Every URL with a host has a path; the error is that of `data:` and its like.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::Account;
    use crate::transport::document::Fields;
    use crate::transport::secrets::Secrets;
    use serde_json::{Value, json};

    /// What `look` sees of the account of a profile with `changes`.
    fn account<T>(changes: Value, look: impl Fn(&Account<'_>) -> T) -> Result<T, String> {
        let mut profile = json!({
            "tenant_id": "contoso.example", "client_id": "0-1", "client_secret": "_env:SECRET",
            "sender": "a@contoso.example",
        });
        if let (Some(profile), Value::Object(changes)) = (profile.as_object_mut(), changes) {
            profile.extend(changes);
        }
        let secrets = Secrets::new(|_| true, |_| Some("s3cret".to_owned().into()));
        let resolved = secrets.resolve(&profile).unwrap();
        let fields = Fields::of_profile(&profile, &resolved).unwrap();
        Account::read(&fields)
            .map(|account| look(&account))
            .map_err(|malformed| malformed.detail())
    }

    #[test]
    fn urls_are_built_from_encoded_segments() {
        let urls = |changes| {
            let look = |account: &Account<'_>| {
                [
                    account.token_url().to_string(),
                    account.send_mail_url().to_string(),
                    account.scope(),
                ]
            };
            account(changes, look).unwrap()
        };
        assert_eq!(
            urls(json!({})),
            [
                "https://login.microsoftonline.com/contoso.example/oauth2/v2.0/token",
                "https://graph.microsoft.com/v1.0/users/a@contoso.example/sendMail",
                "https://graph.microsoft.com/.default",
            ]
        );
        let own = json!({
            "authority_url": "http://127.0.0.1:8080/a/", "graph_url": "https://graph.example/b",
            "sender": "a/./b?c#d%é@contoso.example",
        });
        assert_eq!(
            urls(own),
            [
                "http://127.0.0.1:8080/a/contoso.example/oauth2/v2.0/token",
                "https://graph.example/b/v1.0/users/a%2F.%2Fb%3Fc%23d%25%C3%A9@contoso.example/sendMail",
                "https://graph.example/.default",
            ]
        );
    }

    #[test]
    fn malformed_keys_are_named_and_secrets_are_not_quoted() {
        for (key, value) in [
            ("tenant_id", json!("..")),
            ("tenant_id", json!("a/b")),
            ("tenant_id", json!(null)),
            ("client_id", json!("a b")),
            ("client_secret", json!("literal")),
            ("sender", json!("nobody")),
            ("sender", json!("a@b@c")),
            ("sender", json!("A <a@b.example>")),
            ("save_to_sent_items", json!("false")),
            ("authority_url", json!("http://login.example/")),
            (
                "authority_url",
                json!("https://user:literal@login.example/"),
            ),
            ("graph_url", json!("https://graph.example/?q")),
            ("graph_url", json!("graph.example")),
            ("graph_url", json!("http://127.0.0.1.example/")),
        ] {
            let changes = json!({key: value});
            let problem = account(changes, |_| ()).expect_err(key);
            assert!(
                problem.starts_with(&format!("profile key {key}: ")),
                "{problem}"
            );
            assert!(!problem.contains("literal"), "{problem}");
        }
    }

    #[test]
    fn http_is_for_loopback() {
        for url in ["http://localhost:1/", "http://127.8.9.1/", "http://[::1]:1"] {
            account(json!({"graph_url": url}), |_| ()).expect(url);
        }
    }
}
