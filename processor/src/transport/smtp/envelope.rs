//! The envelope: MAIL and RCPT, in as few flights as the server lets us (RFC 2920).
//!
//! Invariants: without PIPELINING every command waits for the reply to the one before; with it MAIL and the first recipients are one flight, and the next recipients leave
//! when every reply to those before them is in; replies are taken in the order of the commands, and what a refusal leads to does not depend on flights.

use super::dialogue::Talk;
use super::offers::{Offers, Size};
use super::recipients::Refusals;
use super::stop::Stop;
use super::wire::{Handed, Wire};
use shared::failure::{Offer, Phase};
use tokio::io::{AsyncRead, AsyncWrite};

/// Most commands of a flight: few enough for their replies to fit into what we keep of unread ones.
const FLIGHT_MAX: usize = 100;

impl Talk<'_> {
    /// Names the sender and everyone it goes to. Who is refused is given back when the message goes to the others.
    pub(super) async fn address<S>(
        &self,
        wire: &mut Wire<S>,
        offers: &Offers,
    ) -> Result<Refusals, Stop>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let most = if offers.pipelining { FLIGHT_MAX } else { 1 };
        let recipients = self.letter.recipients.as_slice();
        let (with_mail, others) = recipients.split_at(recipients.len().min(most - 1));
        let mut commands = vec![self.mail_command(offers)?];
        commands.extend(with_mail.iter().map(|recipient| rcpt_command(recipient)));
        self.depart(wire, Phase::Mail, &commands).await?;
        let answer = wire.answer().await;
        self.expect(Phase::Mail, answer, &[250])?;
        let mut refusals = Refusals::default();
        let naming = async {
            self.hear(wire, with_mail, &mut refusals).await?;
            for flight in others.chunks(most) {
                let commands: Vec<String> = flight
                    .iter()
                    .map(|recipient| rcpt_command(recipient))
                    .collect();
                self.depart(wire, Phase::Rcpt, &commands).await?;
                self.hear(wire, flight, &mut refusals).await?;
            }
            Ok(())
        };
        let lost = naming.await.err();
        self.conclude(refusals, lost)
    }

    /// MAIL with such parameters as are offered.
    fn mail_command(&self, offers: &Offers) -> Result<String, Stop> {
        let letter = self.letter;
        let mut command = format!("MAIL FROM:<{}>", letter.sender);
        if offers.size != Size::NotOffered {
            command.extend([" SIZE=", &letter.message.len().to_string()]);
        }
        if letter.needs_utf8 {
            if !offers.smtp_utf8 {
                let text = "an address needs SMTPUTF8, which the server does not offer";
                return Err(Stop::not_offered(Offer::SmtpUtf8, text.to_owned()));
            }
            // Bodies are of seven bits; headers with such addresses are not.
            if offers.eight_bit && !letter.message.is_ascii() {
                command += " BODY=8BITMIME";
            }
            command += " SMTPUTF8";
        }
        Ok(command)
    }

    /// Sends a flight. Whatever the server says before its first command is through ends the dialogue.
    async fn depart<S>(
        &self,
        wire: &mut Wire<S>,
        phase: Phase,
        commands: &[String],
    ) -> Result<(), Stop>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        match wire.hand_over_flight(commands).await {
            Ok(Handed::Whole) => Ok(()),
            Ok(Handed::Interrupted) => Err(self.stop(phase, wire.interruption().await)),
            Err(network) => Err(self.stop(phase, Err(network))),
        }
    }

    /// Takes the replies to `recipients`. `Err`: the server has taken its leave, or makes no sense any more.
    async fn hear<S>(
        &self,
        wire: &mut Wire<S>,
        recipients: &[String],
        refusals: &mut Refusals,
    ) -> Result<(), Stop>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        for recipient in recipients {
            match wire.answer().await {
                Ok(answer) if matches!(answer.code(), 250 | 251) => refusals.accepted += 1,
                Ok(answer) if answer.code() == 421 => {
                    refusals.add(recipient, answer.clone());
                    return Err(self.stop(Phase::Rcpt, Ok(answer)));
                }
                Ok(answer) if answer.is_refusal() => refusals.add(recipient, answer),
                answer => return Err(self.stop(Phase::Rcpt, answer)),
            }
        }
        Ok(())
    }

    /// What follows from the refusals, and from the end of the dialogue if it is `lost`.
    fn conclude(&self, refusals: Refusals, lost: Option<Stop>) -> Result<Refusals, Stop> {
        let (accepted, count) = (refusals.accepted, self.letter.recipients.len());
        self.steps.note(
            Phase::Rcpt.as_str(),
            format!("{accepted} of {count} recipients accepted"),
        );
        let is_lost = lost.is_some();
        let refused = match (self.plan.partial_delivery, lost) {
            // The first refusal has decided, whatever went wrong after it.
            (false, lost) => refusals.of_all_or_none(count).or(lost),
            (true, Some(mut lost)) => {
                if !refusals.is_empty() {
                    lost.failure.detail = format!("{}; {}", lost.failure.detail, refusals.named());
                }
                Some(lost)
            }
            (true, None) if accepted == 0 => refusals.of_everyone(count),
            (true, None) => None,
        };
        match refused {
            Some(mut stop) => {
                stop.farewell &= !is_lost;
                Err(stop)
            }
            None => Ok(refusals),
        }
    }
}

fn rcpt_command(recipient: &str) -> String {
    format!("RCPT TO:<{recipient}>")
}
