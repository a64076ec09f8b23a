//! A scripted HTTP server on loopback: it keeps what it was sent, and answers or misbehaves as it is told to.

use fleet_tests::mail::authority::Identity;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_native_tls::TlsAcceptor;

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) target: String,
    /// In the order and the spelling of the wire.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// What the peer does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Writes it and closes.
    Say(String),
    /// Writes it, then a byte a second.
    SayAndDrip(String),
    /// Says nothing, and stays.
    Silence,
    /// Ends the connection in an orderly way.
    Close,
    /// Resets it.
    Reset,
}

type Script = dyn Fn(&Received) -> Act + Send + Sync;

/// The server; it ends with the value.
pub(crate) struct Peer {
    address: SocketAddr,
    log: Arc<Log>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Log {
    connections: AtomicUsize,
    received: Mutex<Vec<Received>>,
}

impl Peer {
    /// Speaks plain HTTP.
    pub(crate) async fn plain(script: impl Fn(&Received) -> Act + Send + Sync + 'static) -> Self {
        Self::start(None, Arc::new(script)).await
    }

    /// Speaks TLS as `identity`.
    pub(crate) async fn tls(
        identity: &Identity,
        script: impl Fn(&Received) -> Act + Send + Sync + 'static,
    ) -> Self {
        let [certificate, key] = [&identity.certificate, &identity.key].map(|file| {
            std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        });
        let identity = native_tls::Identity::from_pkcs8(&certificate, &key).expect("an identity");
        let acceptor = native_tls::TlsAcceptor::new(identity).expect("an acceptor");
        Self::start(Some(acceptor.into()), Arc::new(script)).await
    }

    async fn start(tls: Option<TlsAcceptor>, script: Arc<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let log = Arc::new(Log::default());
        let task = tokio::spawn(accept(listener, tls, script, Arc::clone(&log)));
        Self { address, log, task }
    }

    /// `scheme://127.0.0.1:port`.
    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn connections(&self) -> usize {
        self.log.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.log.received.lock().expect("a log").clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Received {
    /// The only value of header `name`.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self
            .headers
            .iter()
            .filter(|(given, _)| given.eq_ignore_ascii_case(name));
        let value = values.next()?;
        assert!(values.next().is_none(), "{name} is there twice: {self:?}");
        Some(&value.1)
    }
}

/// An answer with `headers`, each of which ends in CR LF.
pub(crate) fn answer(status: u16, headers: &str, body: &str) -> Act {
    Act::Say(format!(
        "HTTP/1.1 {status} Reason\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    ))
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    script: Arc<Script>,
    log: Arc<Log>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        log.connections.fetch_add(1, Ordering::SeqCst);
        let (tls, script, log) = (tls.clone(), Arc::clone(&script), Arc::clone(&log));
        tokio::spawn(async move {
            let served = match tls {
                None => serve(stream, &*script, &log).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => serve(stream, &*script, &log).await,
                    Err(_) => Ok(()),
                },
            };
            // Whoever was cut off has had enough: what the test asserts is what arrived.
            drop(served);
        });
    }
}

/// What lies under a stream.
trait Transport: AsyncRead + AsyncWrite + Unpin {
    fn tcp(&self) -> &TcpStream;
}

impl Transport for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Transport for tokio_native_tls::TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().get_ref().get_ref()
    }
}

async fn serve(mut stream: impl Transport, script: &Script, log: &Log) -> std::io::Result<()> {
    let request = read(&mut stream).await?;
    let act = script(&request);
    log.received.lock().expect("a log").push(request);
    match act {
        Act::Say(text) => {
            stream.write_all(text.as_bytes()).await?;
            stream.shutdown().await
        }
        Act::SayAndDrip(text) => {
            stream.write_all(text.as_bytes()).await?;
            loop {
                stream.write_all(b".").await?;
                stream.flush().await?;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        Act::Silence => std::future::pending().await,
        Act::Close => stream.shutdown().await,
        Act::Reset => stream.tcp().set_zero_linger(),
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Received> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).expect("a head in ASCII");
    let mut lines = head.trim_end().split("\r\n");
    let mut request = lines.next().unwrap_or_default().split(' ');
    let mut word = || request.next().unwrap_or_default().to_owned();
    let mut received = Received {
        method: word(),
        target: word(),
        headers: lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        body: Vec::new(),
    };
    assert!(received.header("transfer-encoding").is_none(), "{head}");
    let length = received.header("content-length").unwrap_or("0");
    received.body = vec![0; length.parse().expect("a length")];
    stream.read_exact(&mut received.body).await?;
    Ok(received)
}
