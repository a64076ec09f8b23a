//! A server on loopback that follows a script: it behaves, but for the places where it is told to do something else.

use crate::session::{Ended, converse};
use fleet_tests::wait;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_native_tls::TlsAcceptor;

/// What a server does in a place of the dialogue.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// It says this, whatever it is.
    Say(Vec<u8>),
    /// It neither says nor reads anything any more.
    Silence,
    /// It closes the connection.
    Close,
    /// It says this and closes.
    SayAndClose(Vec<u8>),
}

/// What a server is.
#[derive(Clone, Default)]
pub(crate) struct Script {
    /// What it does in places that are named by the verb, or `banner`, `handshake`, `body` and `dot`.
    pub(crate) acts: Vec<(&'static str, Act)>,
    /// What it offers in EHLO, and with TLS.
    pub(crate) offers: Vec<&'static str>,
    pub(crate) offers_with_tls: Vec<&'static str>,
    /// Its replies to AUTH and what follows.
    pub(crate) logins: Vec<&'static str>,
    /// Recipients that it does not accept, and what it says to them.
    pub(crate) refused: Vec<(&'static str, &'static str)>,
    /// So many commands from MAIL on it wants to have before it answers any of them, again and again.
    pub(crate) flights: Vec<usize>,
    /// For TLS, and whether it begins with it.
    pub(crate) acceptor: Option<TlsAcceptor>,
    pub(crate) begins_with_tls: bool,
}

/// What was said in one connection.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Lines without their ends.
    pub(crate) lines: Vec<String>,
    /// The message, with stuffed dots and without the final one.
    pub(crate) message: Option<Vec<u8>>,
    /// The client closed the connection.
    pub(crate) ended: bool,
}

/// The server. It ends with the value.
pub(crate) struct Peer {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<Heard>>>,
    serving: JoinHandle<()>,
}

impl Act {
    pub(crate) fn say(text: &str) -> Self {
        Self::Say(format!("{text}\r\n").into_bytes())
    }
}

impl Script {
    pub(crate) fn with(place: &'static str, act: Act) -> Self {
        Self::default().and(place, act)
    }

    pub(crate) fn and(mut self, place: &'static str, act: Act) -> Self {
        self.acts.push((place, act));
        self
    }

    pub(crate) fn act(&self, place: &str) -> Option<Act> {
        let mut acts = self.acts.iter();
        acts.find(|(other, _)| *other == place)
            .map(|(_, act)| act.clone())
    }
}

impl Peer {
    pub(crate) fn start(script: Script) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        // A small window: a client that is not read from notices soon.
        socket.set_recv_buffer_size(4096).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1024).unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let serving = tokio::spawn(serve(listener, script, Arc::clone(&heard)));
        Self {
            port,
            heard,
            serving,
        }
    }

    /// What was said in the only connection.
    pub(crate) fn heard(&self) -> Heard {
        let mut heard = self.connections();
        assert_eq!(heard.len(), 1, "connections: {heard:?}");
        heard.remove(0)
    }

    /// The same when the client has ended it: nobody waits for the reply to QUIT.
    pub(crate) async fn heard_to_the_end(&self) -> Heard {
        self.wait_for_ends(1).await;
        self.heard()
    }

    /// What was said in all connections, and nothing of it later.
    pub(crate) fn connections(&self) -> Vec<Heard> {
        std::mem::take(&mut *self.heard.lock().unwrap())
    }

    /// Waits until clients have ended `count` connections.
    pub(crate) async fn wait_for_ends(&self, count: usize) {
        wait::until("the clients to leave", Duration::from_secs(30), || async {
            let heard = self.heard.lock().unwrap();
            let ended = heard.iter().filter(|heard| heard.ended).count();
            if ended == count {
                Ok(())
            } else {
                Err(format!("{ended} of {} connections have ended", heard.len()))
            }
        })
        .await;
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, script: Script, heard: Arc<Mutex<Vec<Heard>>>) {
    let mut sessions = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let number = {
            let mut heard = heard.lock().unwrap();
            heard.push(Heard::default());
            heard.len() - 1
        };
        let record = Record {
            heard: Arc::clone(&heard),
            number,
        };
        sessions.spawn(session(stream, script.clone(), record));
        // Those that have ended are of no interest.
        while sessions.try_join_next().is_some() {}
    }
}

/// Where a session writes down what it hears.
pub(crate) struct Record {
    heard: Arc<Mutex<Vec<Heard>>>,
    number: usize,
}

impl Record {
    pub(crate) fn note(&self, note: impl FnOnce(&mut Heard)) {
        if let Some(heard) = self.heard.lock().unwrap().get_mut(self.number) {
            note(heard);
        }
    }
}

async fn session(stream: TcpStream, script: Script, record: Record) {
    let plain = if script.begins_with_tls {
        stream
    } else {
        match converse(stream, &script, &script.offers, true, &record).await {
            Ended::Closed => return,
            Ended::StartTls(stream) => stream,
        }
    };
    match script.act("handshake") {
        None => {}
        Some(Act::Silence) => return std::future::pending().await,
        Some(Act::Close) => return,
        Some(Act::Say(said) | Act::SayAndClose(said)) => {
            use tokio::io::AsyncWriteExt;
            let mut plain = plain;
            plain.write_all(&said).await.ok();
            return std::future::pending().await;
        }
    }
    let acceptor = script.acceptor.as_ref().expect("an acceptor");
    let Ok(stream) = acceptor.accept(plain).await else {
        return;
    };
    converse(
        stream,
        &script,
        &script.offers_with_tls,
        script.begins_with_tls,
        &record,
    )
    .await;
}
