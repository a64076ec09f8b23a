//! The dialogue (RFC 5321), phase by phase.
//!
//! Invariants: one transaction, with one MAIL; no command before the reply to the one before, but for MAIL and RCPT where the server offers that; nothing is sent that a
//! refusal has made pointless; success only after 250 to the final dot; the first refusal is what is reported, whatever follows it; after the final dot everything but a
//! reply leaves the outcome unknown.

use super::super::Sent;
use super::super::steps::Steps;
use super::auth;
use super::compose::Letter;
use super::offers::{Offers, Size};
use super::plan::{Login, Plan};
use super::reply::Answer;
use super::stop::Stop;
use super::wire::{Handed, Wire};
use shared::failure::{Enhanced, Evidence, Network, Offer, Phase, Reply};
use tokio::io::{AsyncRead, AsyncWrite};

/// Longest reference that a server's text is kept as, in characters.
const REFERENCE_MAX: usize = 200;

/// What is said, by whom.
pub(super) struct Talk<'a> {
    pub(super) plan: &'a Plan,
    pub(super) letter: &'a Letter,
    pub(super) helo_name: String,
    pub(super) steps: &'a Steps,
}

impl Talk<'_> {
    /// Waits for the greeting.
    pub(super) async fn greet<S>(&self, wire: &mut Wire<S>) -> Result<(), Stop>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let answer = wire.answer().await;
        self.expect(Phase::Banner, answer, &[220]).map(drop)
    }

    /// Gets everything ready for a handshake. What was offered until then is forgotten.
    pub(super) async fn start_tls<S>(&self, wire: &mut Wire<S>) -> Result<(), Stop>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if !self.hello(wire).await?.start_tls {
            return Err(Stop::not_offered(
                Offer::StartTls,
                "the server does not offer STARTTLS".to_owned(),
            ));
        }
        let answer = wire.ask("STARTTLS").await;
        self.expect(Phase::StartTls, answer, &[220])?;
        // CVE-2011-0411: what was said in the open must not be taken for what is said under TLS.
        if wire.has_more().await {
            return Err(Stop::broken(Phase::Handshake, Network::Injected));
        }
        Ok(())
    }

    /// Everything from EHLO to the reply to the final dot.
    pub(super) async fn deliver<S>(&self, wire: &mut Wire<S>) -> Result<Sent, Stop>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let offers = self.hello(wire).await?;
        if let Some(login) = &self.plan.login {
            self.log_in(wire, &offers, login).await?;
        }
        self.check_size(&offers)?;
        let refusals = self.address(wire, &offers).await?;
        let detail = (!refusals.is_empty()).then(|| refusals.named());
        match self.hand_over(wire).await {
            Ok(provider_ref) => Ok(Sent {
                provider_ref,
                detail,
            }),
            Err(mut stop) => {
                if let Some(detail) = detail {
                    stop.failure.detail = format!("{}; {detail}", stop.failure.detail);
                }
                Err(stop)
            }
        }
    }

    /// EHLO, and HELO to a server that knows no other (RFC 5321, 3.2).
    async fn hello<S>(&self, wire: &mut Wire<S>) -> Result<Offers, Stop>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let answer = wire.ask(&format!("EHLO {}", self.helo_name)).await;
        if let Ok(answer) = &answer
            && matches!(answer.code(), 500 | 502)
        {
            self.steps.note(Phase::Ehlo.as_str(), answer.codes());
            let answer = wire.ask(&format!("HELO {}", self.helo_name)).await;
            self.expect(Phase::Ehlo, answer, &[250])?;
            return Ok(Offers::default());
        }
        let answer = self.expect(Phase::Ehlo, answer, &[250])?;
        Ok(Offers::of(&answer))
    }

    async fn log_in<S>(
        &self,
        wire: &mut Wire<S>,
        offers: &Offers,
        login: &Login,
    ) -> Result<(), Stop>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mechanism = login.mechanism.keyword();
        if !offers.has_mechanism(mechanism) {
            return Err(Stop::not_offered(
                Offer::Auth,
                format!("the server does not offer AUTH {mechanism}"),
            ));
        }
        let answer = auth::exchange(wire, login).await;
        self.expect(Phase::Auth, answer, &[235]).map(drop)
    }

    /// Says what the server would say to MAIL (RFC 1870, 6.1), before anything is sent.
    fn check_size(&self, offers: &Offers) -> Result<(), Stop> {
        let size = self.letter.message.len() as u64;
        match offers.size {
            Size::Limit(limit) if size > limit => {
                let reply = Reply {
                    code: 552,
                    enhanced: Some(Enhanced(5, 3, 4)),
                };
                let text =
                    format!("the message has {size} bytes, and the server takes {limit} (SIZE)");
                let evidence = Evidence::Smtp {
                    phase: Phase::Mail,
                    reply,
                };
                Err(Stop::polite(evidence, text.clone(), text))
            }
            Size::Limit(_) | Size::Unlimited | Size::NotOffered => Ok(()),
        }
    }

    /// DATA, the message and the final dot; gives the server's word for it.
    async fn hand_over<S>(&self, wire: &mut Wire<S>) -> Result<Option<String>, Stop>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let answer = wire.ask("DATA").await;
        self.expect(Phase::Data, answer, &[354])?;
        let handed = wire.hand_over(self.letter.stuffed.as_bytes()).await;
        match handed.map_err(|network| self.stop(Phase::Body, Err(network)))? {
            Handed::Whole => self.steps.note(
                Phase::Body.as_str(),
                format!("{} bytes", self.letter.message.len()),
            ),
            Handed::Interrupted => {
                let answer = wire.interruption().await;
                return Err(self.stop(Phase::Body, answer));
            }
        }
        let answer = wire.answer().await;
        let answer = self.expect(Phase::Dot, answer, &[250])?;
        Ok(answer.remark(REFERENCE_MAX))
    }

    /// Notes the reply to `phase` and gives it if it has one of `codes`.
    pub(super) fn expect(
        &self,
        phase: Phase,
        answer: Result<Answer, Network>,
        codes: &[u16],
    ) -> Result<Answer, Stop> {
        match answer {
            Ok(answer) if codes.contains(&answer.code()) => {
                self.steps.note(phase.as_str(), answer.codes());
                Ok(answer)
            }
            other => Err(self.stop(phase, other)),
        }
    }

    /// Notes what ends the dialogue in `phase`.
    pub(super) fn stop(&self, phase: Phase, answer: Result<Answer, Network>) -> Stop {
        let stop = match answer {
            Ok(answer) if answer.is_refusal() => Stop::refused(phase, &answer),
            Ok(answer) => Stop::unexpected(phase, &answer),
            Err(network) => Stop::broken(phase, network),
        };
        self.steps
            .note(phase.as_str(), stop.failure.summary.clone());
        stop
    }
}

#[cfg(test)]
mod tests;
