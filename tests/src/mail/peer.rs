//! An SMTP server that stops where the test wants it to, and keeps what it was told. For what no real server does on request.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::wait;

/// Where a session can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Connected, not greeted.
    Connect,
    /// EHLO was said.
    Ehlo,
    /// A login was asked for.
    Auth,
    /// A sender was named.
    Mail,
    /// A recipient was named.
    Rcpt,
    /// The message was announced.
    Data,
    /// The message has begun.
    Body,
    /// The message has ended, and is not accepted yet.
    Dot,
    /// It was accepted, and the client takes its leave.
    Quit,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::Connect,
        Self::Ehlo,
        Self::Auth,
        Self::Mail,
        Self::Rcpt,
        Self::Data,
        Self::Body,
        Self::Dot,
        Self::Quit,
    ];
}

/// A server on loopback. It ends with the value.
#[derive(Debug)]
pub struct Peer {
    port: u16,
    state: Arc<State>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    hold: watch::Sender<Option<Phase>>,
    held: watch::Sender<usize>,
    heard: Mutex<Vec<String>>,
    accepted: Mutex<Vec<String>>,
}

impl Peer {
    /// One that holds nobody up.
    ///
    /// # Panics
    /// When there is no port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let state = Arc::new(State {
            hold: watch::Sender::new(None),
            held: watch::Sender::new(0),
            heard: Mutex::default(),
            accepted: Mutex::default(),
        });
        let serving = tokio::spawn(serve(listener, Arc::clone(&state)));
        Self {
            port,
            state,
            serving,
        }
    }

    /// Where it listens, without encryption.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on, sessions stop in `phase` until the peer is told otherwise; `None`: nowhere.
    pub fn hold(&self, phase: Option<Phase>) {
        self.state.hold.send_replace(phase);
    }

    /// Waits until `count` sessions stand still.
    pub async fn wait_for_held(&self, count: usize) {
        let what = format!("{count} sessions to stand still");
        wait::until(&what, Duration::from_secs(20), || async {
            match *self.state.held.borrow() {
                seen if seen >= count => Ok(()),
                seen => Err(format!("{seen} sessions")),
            }
        })
        .await;
    }

    /// The messages that were accepted, in the order of their acceptance.
    ///
    /// # Panics
    /// When a session has.
    #[must_use]
    pub fn accepted(&self) -> Vec<String> {
        self.state.accepted.lock().expect("the messages").clone()
    }

    /// All lines that clients have sent.
    ///
    /// # Panics
    /// When a session has.
    #[must_use]
    pub fn heard(&self) -> Vec<String> {
        self.state.heard.lock().expect("the transcript").clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    let mut sessions = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let session = Session {
            stream: BufReader::new(stream),
            state: Arc::clone(&state),
        };
        // A client that goes away in the middle is what some tests are about.
        sessions.spawn(async move { session.run().await.ok() });
    }
}

struct Session {
    stream: BufReader<TcpStream>,
    state: Arc<State>,
}

impl Session {
    async fn run(mut self) -> io::Result<()> {
        self.pass(Phase::Connect).await;
        self.say("220 peer.test.example ESMTP").await?;
        while let Some(line) = self.hear().await? {
            let verb = line.split([' ', ':']).next().unwrap_or_default();
            match verb.to_ascii_uppercase().as_str() {
                "EHLO" => {
                    self.pass(Phase::Ehlo).await;
                    self.say("250-peer.test.example\r\n250-8BITMIME\r\n250 AUTH PLAIN LOGIN")
                        .await?;
                }
                "AUTH" => self.log_in(&line).await?,
                "MAIL" => self.answer(Phase::Mail, "250 2.1.0 Ok").await?,
                "RCPT" => self.answer(Phase::Rcpt, "250 2.1.5 Ok").await?,
                "DATA" => {
                    self.answer(Phase::Data, "354 Go on").await?;
                    self.take_message().await?;
                }
                "QUIT" => return self.answer(Phase::Quit, "221 2.0.0 Bye").await,
                _ => self.say("500 5.5.1 Unknown").await?,
            }
        }
        Ok(())
    }

    /// Any name with any password is right; what came is in the transcript.
    async fn log_in(&mut self, line: &str) -> io::Result<()> {
        self.pass(Phase::Auth).await;
        // Without an initial response both halves are asked for.
        if line.split(' ').count() == 2 {
            for prompt in ["334 VXNlcm5hbWU6", "334 UGFzc3dvcmQ6"] {
                self.say(prompt).await?;
                self.hear().await?;
            }
        }
        self.say("235 2.7.0 Ok").await
    }

    async fn take_message(&mut self) -> io::Result<()> {
        let mut message = String::new();
        while let Some(line) = self.hear().await? {
            if message.is_empty() {
                self.pass(Phase::Body).await;
            }
            if line == "." {
                self.pass(Phase::Dot).await;
                // Before it is said: a client that is told so may be gone before we are.
                self.state
                    .accepted
                    .lock()
                    .expect("the messages")
                    .push(message);
                return self.say("250 2.0.0 Accepted as 4711").await;
            }
            message += &line;
            message += "\n";
        }
        Ok(())
    }

    async fn answer(&mut self, phase: Phase, reply: &str) -> io::Result<()> {
        self.pass(phase).await;
        self.say(reply).await
    }

    /// Stands still while `phase` is held.
    async fn pass(&mut self, phase: Phase) {
        let mut hold = self.state.hold.subscribe();
        if *hold.borrow_and_update() != Some(phase) {
            return;
        }
        self.state.held.send_modify(|held| *held += 1);
        // An error: the peer is gone, and this session with it.
        hold.wait_for(|held| *held != Some(phase)).await.ok();
        self.state.held.send_modify(|held| *held -= 1);
    }

    async fn say(&mut self, reply: &str) -> io::Result<()> {
        let stream = self.stream.get_mut();
        stream.write_all(format!("{reply}\r\n").as_bytes()).await
    }

    async fn hear(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        if self.stream.read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']).to_owned();
        self.state
            .heard
            .lock()
            .expect("the transcript")
            .push(line.clone());
        Ok(Some(line))
    }
}
