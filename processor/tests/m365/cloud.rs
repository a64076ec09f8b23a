//! A token endpoint and Graph in one scripted server.

use crate::peer::{Act, Peer, Received, answer};
use crate::sending::{Outcome, attempt, transports};
use pg_relay_processor::transport::Transports;
use serde_json::{Value, json};

/// What the variable `SECRET` holds; every character of it means something in a form or a URL.
pub(crate) const SECRET: &str = "s3cret @:/%+ü&=\"~";

/// The server.
pub(crate) struct Cloud(Peer);

impl Cloud {
    /// `token` answers requests for tokens and `graph` the others.
    pub(crate) async fn new(
        token: impl Fn(&Received) -> Act + Send + Sync + 'static,
        graph: impl Fn(&Received) -> Act + Send + Sync + 'static,
    ) -> Self {
        let script = move |request: &Received| {
            if request.target.ends_with("/token") {
                token(request)
            } else {
                graph(request)
            }
        };
        Self(Peer::plain(script).await)
    }

    /// Grants every token and takes every mail with `act`.
    pub(crate) async fn answering(act: Act) -> Self {
        Self::new(|_| grant("t0ken", &json!(3600)), move |_| act.clone()).await
    }

    pub(crate) fn profile(&self) -> Value {
        json!({
            "tenant_id": "contoso.example", "client_id": "1-2-3", "client_secret": "_env:SECRET",
            "sender": "sender@contoso.example", "timeout_seconds": 20,
            "authority_url": format!("{}/login/", self.url()), "graph_url": self.url(),
        })
    }

    /// `http://127.0.0.1:port`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.0.address())
    }

    /// Requests for tokens.
    pub(crate) fn token_requests(&self) -> Vec<Received> {
        self.received("/token")
    }

    /// Requests to send a mail.
    pub(crate) fn mails(&self) -> Vec<Received> {
        self.received("/sendMail")
    }

    fn received(&self, end: &str) -> Vec<Received> {
        let mut received = self.0.received();
        received.retain(|request| request.target.ends_with(end));
        received
    }

    /// Connections of any kind.
    pub(crate) fn connections(&self) -> usize {
        self.0.connections()
    }

    /// One attempt at a mail by a Processor that has no tokens yet.
    pub(crate) async fn send(&self) -> Outcome {
        send(&with_secret(), &self.profile()).await
    }
}

/// Transports whose only variable is the client secret.
pub(crate) fn with_secret() -> Transports {
    transports(&[("SECRET", SECRET)])
}

/// One attempt at a mail.
pub(crate) async fn send(transports: &Transports, profile: &Value) -> Outcome {
    let message = json!({"to": "rcpt@example.org", "subject": "subj3ct", "text": "t3xt"});
    attempt(transports, "m365", profile, &message).await
}

/// A token that is said to live for `expires_in`.
pub(crate) fn grant(token: &str, expires_in: &Value) -> Act {
    let body = json!({"token_type": "Bearer", "access_token": token, "expires_in": expires_in});
    answer(200, "Content-Type: application/json\r\n", &body.to_string())
}

/// Graph's answer to a mail that it has taken.
pub(crate) fn accepted() -> Act {
    answer(202, "request-id: r-1\r\n", "")
}
