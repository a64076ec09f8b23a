//! One session of a scripted server.

use crate::peer::{Act, Record, Script};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

/// How a session ended.
pub(crate) enum Ended<S> {
    /// Nothing more is to come.
    Closed,
    /// TLS is to begin on this.
    StartTls(S),
}

/// The connection is over; `Ok` goes on.
struct Over;

struct Session<'a, S> {
    stream: BufReader<S>,
    script: &'a Script,
    record: &'a Record,
    /// What is left of the script's.
    flights: &'a [usize],
    /// Replies to the commands of a flight that is not complete.
    held: Vec<String>,
}

/// Follows `script` until the client, or the script, has enough.
pub(crate) async fn converse<S>(
    stream: S,
    script: &Script,
    offers: &[&str],
    greets: bool,
    record: &Record,
) -> Ended<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut session = Session {
        stream: BufReader::new(stream),
        script,
        record,
        flights: &script.flights,
        held: Vec::new(),
    };
    match session.run(offers, greets).await {
        Ok(()) => Ended::StartTls(session.stream.into_inner()),
        Err(Over) => Ended::Closed,
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<'_, S> {
    /// `Ok`: TLS is to begin.
    async fn run(&mut self, offers: &[&str], greets: bool) -> Result<(), Over> {
        if greets {
            self.act("banner", "220 peer").await?;
        }
        loop {
            let line = self.line().await?;
            let verb = line.split([' ', ':']).next().unwrap_or_default().to_owned();
            match verb.as_str() {
                "EHLO" => {
                    let mut lines = vec!["peer"];
                    lines.extend(offers);
                    self.act("EHLO", &multiline(&lines)).await?;
                }
                "STARTTLS" => {
                    self.act("STARTTLS", "220 go").await?;
                    if self.says_no_at("STARTTLS") {
                        continue;
                    }
                    return Ok(());
                }
                "AUTH" => self.log_in().await?,
                "RCPT" => {
                    let refused = self
                        .script
                        .refused
                        .iter()
                        .find(|(to, _)| line.contains(&format!("<{to}>")));
                    let reply = refused.map_or("250 2.1.5 Ok", |(_, reply)| *reply);
                    self.reply("RCPT", reply).await?;
                }
                "DATA" => {
                    self.act("DATA", "354 go").await?;
                    if self.says_no_at("DATA") {
                        continue;
                    }
                    if let Some(act) = self.script.act("body") {
                        self.perform(act).await?;
                    }
                    self.message().await?;
                    self.act("dot", "250 2.0.0 Ok: queued as 4XYZ").await?;
                }
                "QUIT" => {
                    self.act("QUIT", "221 bye").await?;
                    return self.drain().await;
                }
                "HELO" => self.act("HELO", "250 peer").await?,
                "MAIL" => self.reply("MAIL", "250 2.1.0 Ok").await?,
                _ => self.say(b"500 what?\r\n").await?,
            }
        }
    }

    async fn act(&mut self, place: &str, usual: &str) -> Result<(), Over> {
        match self.script.act(place) {
            Some(act) => self.perform(act).await,
            None => self.say(format!("{usual}\r\n").as_bytes()).await,
        }
    }

    /// Acts at once, or for all of a flight when all of it is there.
    async fn reply(&mut self, place: &str, usual: &str) -> Result<(), Over> {
        let Some((size, others)) = self.flights.split_first() else {
            return self.act(place, usual).await;
        };
        let reply = match self.script.act(place) {
            Some(Act::Say(said)) => String::from_utf8(said).expect("a reply in UTF-8"),
            Some(act) => return self.perform(act).await,
            None => format!("{usual}\r\n"),
        };
        self.held.push(reply);
        if self.held.len() < *size {
            return Ok(());
        }
        self.flights = others;
        let replies = std::mem::take(&mut self.held).concat();
        self.say(replies.as_bytes()).await
    }

    async fn perform(&mut self, act: Act) -> Result<(), Over> {
        match act {
            Act::Say(said) => self.say(&said).await,
            Act::Silence => std::future::pending().await,
            Act::Close => Err(Over),
            Act::SayAndClose(said) => {
                self.say(&said).await?;
                Err(Over)
            }
        }
    }

    /// Whether what it says in `place` keeps the usual from following.
    fn says_no_at(&self, place: &str) -> bool {
        let act = self.script.act(place);
        matches!(act, Some(Act::Say(said)) if !said.starts_with(b"220") && !said.starts_with(b"354"))
    }

    async fn log_in(&mut self) -> Result<(), Over> {
        if self.script.act("AUTH").is_some() {
            return self.act("AUTH", "").await;
        }
        for (number, reply) in self.script.logins.iter().enumerate() {
            if number > 0 {
                self.line().await?;
            }
            self.say(format!("{reply}\r\n").as_bytes()).await?;
            if !reply.starts_with("334") {
                break;
            }
        }
        Ok(())
    }

    async fn say(&mut self, bytes: &[u8]) -> Result<(), Over> {
        self.stream.write_all(bytes).await.map_err(|_| Over)?;
        self.stream.flush().await.map_err(|_| Over)
    }

    async fn line(&mut self) -> Result<String, Over> {
        let mut line = Vec::new();
        if let Ok(1..) = self.stream.read_until(b'\n', &mut line).await {
            let line = String::from_utf8(line).expect("a command in UTF-8");
            let line = line.strip_suffix("\r\n").expect("CRLF").to_owned();
            self.record.note(|heard| heard.lines.push(line.clone()));
            Ok(line)
        } else {
            self.record.note(|heard| heard.ended = true);
            Err(Over)
        }
    }

    async fn message(&mut self) -> Result<(), Over> {
        let mut message = Vec::new();
        loop {
            let begin = message.len();
            match self.stream.read_until(b'\n', &mut message).await {
                Ok(1..) if &message[begin..] == b".\r\n" => break,
                Ok(1..) => {}
                Ok(0) | Err(_) => {
                    self.record.note(|heard| heard.ended = true);
                    return Err(Over);
                }
            }
        }
        message.truncate(message.len() - 3);
        self.record.note(|heard| heard.message = Some(message));
        Ok(())
    }

    /// Waits for the client to close.
    async fn drain(&mut self) -> Result<(), Over> {
        loop {
            self.line().await?;
        }
    }
}

/// One reply of several lines.
fn multiline(lines: &[&str]) -> String {
    let last = lines.len() - 1;
    let lines = lines.iter().enumerate();
    let lines: Vec<String> = lines
        .map(|(number, line)| format!("250{}{line}", if number == last { ' ' } else { '-' }))
        .collect();
    lines.join("\r\n")
}
