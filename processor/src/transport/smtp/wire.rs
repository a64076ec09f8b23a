//! Bytes out, replies in, all under the deadline of the attempt.
//!
//! The deadline is here, and not around the dialogue, so that no exchange is cancelled half-way: whoever runs out of time knows in which phase.
//!
//! A reply answers what was sent before it arrived. Bytes that are there before all of the first command of a flight, or of the message, is handed over answer something
//! else; they are heard if they refuse, as a server may give up on a message that it is still receiving, and end the dialogue if they do not.

use super::reply::{Answer, Gathering};
use crate::transport::veil::Veil;
use shared::failure::Network;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{Instant, timeout_at};

/// Most bytes of one reply. A line has up to 512 (RFC 5321, 4.5.3.1.5), and the longest replies are those to EHLO.
const REPLY_MAX: usize = 65_536;
/// How long a server may take to hear QUIT.
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection.
pub(super) struct Wire<S> {
    stream: S,
    deadline: Instant,
    /// What has arrived and is not read.
    received: Vec<u8>,
    /// How many replies are still to come to what was sent.
    due: usize,
    veil: Veil,
}

/// How far the server let us go.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Handed {
    /// All is on its way.
    Whole,
    /// The server spoke before.
    Interrupted,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    /// A connection on which nothing was said yet.
    pub(super) const fn new(stream: S, deadline: Instant, veil: Veil) -> Self {
        Self {
            stream,
            deadline,
            received: Vec::new(),
            due: 0,
            veil,
        }
    }

    /// The connection below, and what hides secrets.
    pub(super) fn into_parts(self) -> (S, Veil) {
        (self.stream, self.veil)
    }

    /// Sends a line and gives its answer.
    pub(super) async fn ask(&mut self, line: &str) -> Result<Answer, Network> {
        match self.hand_over(format!("{line}\r\n").as_bytes()).await? {
            Handed::Whole => self.answer().await,
            Handed::Interrupted => self.interruption().await,
        }
    }

    /// A refusal that came before we were through.
    pub(super) async fn interruption(&mut self) -> Result<Answer, Network> {
        let answer = self.answer().await?;
        if answer.is_refusal() {
            Ok(answer)
        } else {
            Err(Network::NoReply)
        }
    }

    /// Sends `bytes`, to which one reply is due, unless the server speaks before they are all handed over.
    pub(super) async fn hand_over(&mut self, bytes: &[u8]) -> Result<Handed, Network> {
        self.send(bytes, bytes.len(), 1).await
    }

    /// Sends a flight: commands of which none waits for the reply to the one before (RFC 2920, 3.1). Replies may come once the first is handed over.
    pub(super) async fn hand_over_flight(
        &mut self,
        commands: &[String],
    ) -> Result<Handed, Network> {
        const END: &str = "\r\n";
        let first = commands.first().map_or(0, |first| first.len() + END.len());
        let lines = commands.iter().flat_map(|command| [command, END]);
        let flight: String = lines.collect();
        self.send(flight.as_bytes(), first, commands.len()).await
    }

    /// Sends `bytes`, to which `replies` are due, none of them before the `first` bytes are handed over.
    async fn send(
        &mut self,
        bytes: &[u8],
        first: usize,
        replies: usize,
    ) -> Result<Handed, Network> {
        if !self.received.is_empty() {
            return Ok(Handed::Interrupted);
        }
        let (deadline, mut rest) = (self.deadline, bytes);
        let behind_first = bytes.len() - first;
        let sending = poll_fn(|cx| self.poll_send(cx, &mut rest, behind_first));
        let handed = timeout_at(deadline, sending).await;
        let handed = handed.unwrap_or(Err(Network::Timeout))?;
        if handed == Handed::Whole {
            self.due += replies;
        }
        Ok(handed)
    }

    /// Sends `rest`. When no more than `behind_first` bytes are left of it, replies are welcome.
    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        rest: &mut &[u8],
        behind_first: usize,
    ) -> Poll<Result<Handed, Network>> {
        let mut is_broken = false;
        loop {
            let is_answerable = rest.len() <= behind_first;
            // Before each write, and once more after one that failed: a server that refuses and closes leaves us both. And within a flight, since a server that
            // waits for its replies to be read does not read what we write.
            match self.poll_receive(cx) {
                Poll::Ready(received) if !is_answerable => {
                    return Poll::Ready(received.map(|()| Handed::Interrupted));
                }
                Poll::Ready(Ok(())) if self.received.len() > REPLY_MAX => {
                    return Poll::Ready(Err(Network::NoReply));
                }
                Poll::Ready(Ok(())) => continue,
                // What was said before the end, the reading finds out.
                Poll::Ready(Err(_)) => return Poll::Ready(Ok(Handed::Whole)),
                Poll::Pending if is_broken && self.received.is_empty() => {
                    return Poll::Ready(Err(Network::Closed));
                }
                Poll::Pending if is_broken || rest.is_empty() => {
                    return Poll::Ready(Ok(Handed::Whole));
                }
                Poll::Pending => {}
            }
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(0) | Err(_)) => is_broken = true,
                Poll::Ready(Ok(written)) => {
                    *rest = rest.get(written..).unwrap_or_default();
                    if rest.is_empty() {
                        return Poll::Ready(Ok(Handed::Whole));
                    }
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Network>> {
        let mut space = [0; 1024];
        let mut space = ReadBuf::new(&mut space);
        match Pin::new(&mut self.stream).poll_read(cx, &mut space) {
            Poll::Ready(Ok(())) if !space.filled().is_empty() => {
                self.received.extend_from_slice(space.filled());
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Ok(()) | Err(_)) => Poll::Ready(Err(Network::Closed)),
            Poll::Pending => Poll::Pending,
        }
    }

    /// The next reply.
    pub(super) async fn answer(&mut self) -> Result<Answer, Network> {
        // What a failed flush means, the reading finds out, and it may find a reply.
        let flushing = timeout_at(self.deadline, self.stream.flush()).await;
        flushing.map_err(|_| Network::Timeout)?.ok();
        let mut gathering = Gathering::default();
        let mut left = REPLY_MAX;
        loop {
            let line = match self.line(&mut left).await {
                Err(Network::Closed) if gathering.has_begun() => return Err(Network::HalfReply),
                line => line?,
            };
            let taken = gathering.take(&line, &self.veil);
            if let Some(answer) = taken.map_err(|_| Network::NoReply)? {
                self.due = self.due.saturating_sub(1);
                return Ok(answer);
            }
        }
    }

    /// The next line without its end, if the `left` bytes of the reply hold it.
    async fn line(&mut self, left: &mut usize) -> Result<Vec<u8>, Network> {
        let mut searched = 0;
        loop {
            let end = self
                .received
                .iter()
                .skip(searched)
                .position(|byte| *byte == b'\n');
            let length = end.map_or(self.received.len(), |end| searched + end + 1);
            if length > *left {
                return Err(Network::NoReply);
            }
            if end.is_some() {
                *left -= length;
                let mut line: Vec<u8> = self.received.drain(..length).collect();
                line.pop();
                line.pop_if(|byte| *byte == b'\r');
                return Ok(line);
            }
            searched = length;
            self.receive().await?;
        }
    }

    async fn receive(&mut self) -> Result<(), Network> {
        let mut space = [0; 4096];
        let reading = timeout_at(self.deadline, self.stream.read(&mut space)).await;
        match reading.map_err(|_| Network::Timeout)? {
            Ok(length @ 1..) => {
                self.received.extend_from_slice(&space[..length]);
                Ok(())
            }
            Ok(0) | Err(_) if self.received.is_empty() => Err(Network::Closed),
            Ok(0) | Err(_) => Err(Network::HalfReply),
        }
    }

    /// Whether the server said something that nobody asked for.
    pub(super) async fn has_more(&mut self) -> bool {
        if !self.received.is_empty() {
            return true;
        }
        // Whatever is wrong with the connection, the next to use it will find out.
        let looking = poll_fn(|cx| Poll::Ready(self.poll_receive(cx).is_ready()));
        looking.await && !self.received.is_empty()
    }

    /// Ends the session politely, without caring how the server takes it: its reply would tell nothing (Postfix: smtp_skip_quit_response).
    pub(super) async fn quit(mut self) {
        self.deadline = self.deadline.min(Instant::now() + PATIENCE);
        // The end of a connection on which something is unread is a reset, and a reset can overtake QUIT.
        while self.due > 0 && self.answer().await.is_ok() {}
        self.received.clear();
        if self.hand_over(b"QUIT\r\n").await == Ok(Handed::Whole) {
            // TLS says goodbye, too.
            timeout_at(self.deadline, self.stream.shutdown()).await.ok();
        }
    }
}

#[cfg(test)]
mod tests;
