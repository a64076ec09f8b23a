//! AUTH (RFC 4954).

use super::plan::{Login, Mechanism};
use super::reply::Answer;
use super::wire::Wire;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use secrecy::ExposeSecret;
use shared::failure::Network;
use tokio::io::{AsyncRead, AsyncWrite};

/// Everything the mechanism sends, in base64 and in its order.
pub(super) fn responses(login: &Login) -> Vec<String> {
    let (user, password) = (&login.username, login.password.expose_secret());
    let encode = |text: &str| BASE64_STANDARD.encode(text);
    match login.mechanism {
        Mechanism::Plain => vec![encode(&format!("\0{user}\0{password}"))],
        Mechanism::Login => vec![encode(user), encode(password)],
        Mechanism::XOAuth2 => {
            vec![encode(&format!(
                "user={user}\u{1}auth=Bearer {password}\u{1}\u{1}"
            ))]
        }
    }
}

/// Runs the exchange and gives its last reply.
pub(super) async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    login: &Login,
) -> Result<Answer, Network> {
    let keyword = login.mechanism.keyword();
    let mut responses = responses(login).into_iter();
    let mut answer = match login.mechanism {
        // With the initial response: one round trip less, and some servers know it in no other way.
        Mechanism::Plain | Mechanism::XOAuth2 => {
            let initial = responses.next().unwrap_or_default();
            wire.ask(&format!("AUTH {keyword} {initial}")).await?
        }
        Mechanism::Login => wire.ask(&format!("AUTH {keyword}")).await?,
    };
    // What a server asks for is known from the order alone: the texts of the prompts vary.
    for response in responses {
        if answer.code() != 334 {
            return Ok(answer);
        }
        answer = wire.ask(&response).await?;
    }
    if answer.code() == 334 && login.mechanism == Mechanism::XOAuth2 {
        // The challenge holds an error, and the refusal comes after an empty response.
        answer = wire.ask("").await?;
    }
    Ok(answer)
}
