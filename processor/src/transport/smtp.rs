//! SMTP: one mail over a connection of its own.
//!
//! `plan` is the profile, `compose` makes the mail, `wire` carries bytes and replies under the deadline, `dialogue` knows what is said when. A stock transport cannot tell
//! in which phase it stopped, and that is what a failure is classified by.
//!
//! Invariants: every attempt opens one connection and closes it; nothing runs past the deadline but QUIT, and that for a second at most and after the verdict is known; TLS is
//! never given up for the sake of delivery; the password and what it is sent as are in no text that leaves this module.

mod auth;
mod body;
mod compose;
mod connect;
mod dialogue;
mod envelope;
mod header;
mod offers;
mod plan;
mod recipients;
mod reply;
mod stop;
mod tls;
mod wire;

use super::document::Fields;
use super::mail::Mail;
use super::steps::Steps;
use super::veil::Veil;
use super::{Failure, Sent};
use compose::compose_aside;
use dialogue::Talk;
use plan::{Plan, Security};
use secrecy::ExposeSecret;
use shared::failure::Phase;
use std::time::Instant;
use stop::Stop;
use tokio::io::{AsyncRead, AsyncWrite};
use wire::Wire;

/// Sends notification `id`.
pub async fn send(
    id: i64,
    profile: &Fields<'_>,
    message: &Fields<'_>,
    deadline: Instant,
    steps: &Steps,
) -> Result<Sent, Failure> {
    let plan = Plan::read(profile)?;
    let mail = Mail::read(message)?;
    plan.limits.check(&mail)?;
    let (plan, letter) = compose_aside(id, plan, mail).await?;
    let (bytes, recipients) = (letter.message.len(), letter.recipients.len());
    steps.note(
        "compose",
        format!("{bytes} bytes for {recipients} recipients"),
    );
    let deadline = tokio::time::Instant::from_std(deadline);
    let connector = match plan.security {
        Security::StartTls | Security::Tls => Some(tls::connector(&plan, deadline).await?),
        Security::None => None,
    };
    let place = format!("{} port {}", plan.host_shown, plan.port);
    let stream = connect::connect(&plan, deadline).await.map_err(|network| {
        let failure = Stop::broken(Phase::Connect, network).failure;
        steps.note(
            Phase::Connect.as_str(),
            format!("{place}: {}", failure.summary),
        );
        failure
    })?;
    steps.note(Phase::Connect.as_str(), place);
    let own = stream.local_addr().ok().map(|address| address.ip());
    let talk = Talk {
        plan: &plan,
        letter: &letter,
        helo_name: connect::helo_name(&plan, own),
        steps,
    };
    let veil = plan.login.as_ref().map_or_else(Veil::default, |login| {
        let password = login.password.expose_secret();
        let responses = auth::responses(login);
        Veil::of(
            [password]
                .into_iter()
                .chain(responses.iter().map(String::as_str)),
        )
    });
    let mut wire = Wire::new(stream, deadline, veil);
    let Some(connector) = connector else {
        return greet_and_deliver(&talk, wire).await;
    };
    if plan.security == Security::StartTls {
        let begun = async {
            talk.greet(&mut wire).await?;
            talk.start_tls(&mut wire).await
        };
        if let Err(stop) = begun.await {
            return Err(part(wire, stop).await);
        }
    }
    let (stream, veil) = wire.into_parts();
    let shaken = tls::handshake(&connector, &plan, stream, deadline).await;
    let shaken = shaken.map_err(|stop| {
        steps.note(Phase::Handshake.as_str(), stop.failure.summary.clone());
        stop.failure
    })?;
    steps.note(Phase::Handshake.as_str(), "done");
    let mut wire = Wire::new(shaken, deadline, veil);
    if plan.security == Security::Tls {
        return greet_and_deliver(&talk, wire).await;
    }
    let sent = talk.deliver(&mut wire).await;
    conclude(wire, sent).await
}

async fn greet_and_deliver<S>(talk: &Talk<'_>, mut wire: Wire<S>) -> Result<Sent, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let delivery = async {
        talk.greet(&mut wire).await?;
        talk.deliver(&mut wire).await
    };
    let sent = delivery.await;
    conclude(wire, sent).await
}

/// Takes leave; what is known by now does not change by it.
async fn conclude<S>(wire: Wire<S>, sent: Result<Sent, Stop>) -> Result<Sent, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match sent {
        Ok(sent) => {
            wire.quit().await;
            Ok(sent)
        }
        Err(stop) => Err(part(wire, stop).await),
    }
}

async fn part<S>(wire: Wire<S>, stop: Stop) -> Failure
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if stop.farewell {
        wire.quit().await;
    }
    stop.failure
}
