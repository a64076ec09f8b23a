//! The far end of a webhook: an HTTP server in the test that answers as it is told, or lets its callers wait.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use fleet_tests::wait;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A request as far as tests ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) webhook_id: String,
    pub(crate) body: Value,
}

#[derive(Debug)]
struct State {
    requests: Mutex<Vec<Request>>,
    /// Statuses of the next answers; 204 once they are used up.
    answers: Mutex<VecDeque<u16>>,
    open: watch::Sender<bool>,
}

const UNPOISONED: &str = "nothing panics while it is locked";

impl State {
    fn requests(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().expect(UNPOISONED)
    }
}

/// Stops listening when it is dropped.
#[derive(Debug)]
pub(crate) struct Receiver {
    port: u16,
    state: Arc<State>,
    listening: tokio::task::JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Receiver {
    /// One that answers at once.
    pub(crate) async fn start(answers: &[u16]) -> Self {
        Self::listen(answers, true).await
    }

    /// One that answers nobody before it is opened.
    pub(crate) async fn closed(answers: &[u16]) -> Self {
        Self::listen(answers, false).await
    }

    async fn listen(answers: &[u16], open: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let state = Arc::new(State {
            requests: Mutex::default(),
            answers: Mutex::new(answers.iter().copied().collect()),
            open: watch::Sender::new(open),
        });
        let shared = Arc::clone(&state);
        let listening = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&shared)));
            }
        });
        Self {
            port,
            state,
            listening,
        }
    }

    /// The profile that leads to it.
    pub(crate) fn profile(&self) -> Value {
        json!({"url": format!("http://127.0.0.1:{}/", self.port), "allow_private_network": true, "timeout_seconds": 60})
    }

    /// Answers everybody from now on.
    pub(crate) fn open(&self) {
        self.state.open.send_replace(true);
    }

    /// What has arrived so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.requests().clone()
    }

    /// Waits until that many requests have arrived.
    pub(crate) async fn wait_for(&self, count: usize) {
        let what = format!("{count} requests at the receiver");
        wait::until(&what, wait::SOON, || async {
            match self.requests().len() {
                seen if seen >= count => Ok(()),
                seen => Err(format!("{seen} requests")),
            }
        })
        .await;
    }
}

async fn serve(socket: TcpStream, state: Arc<State>) {
    let mut socket = BufReader::new(socket);
    // Whoever leaves in the middle of a request was killed by the test.
    while let Ok(Some(request)) = read(&mut socket).await {
        state.requests().push(request);
        let mut open = state.open.subscribe();
        if open.wait_for(|open| *open).await.is_err() {
            return;
        }
        let next = state.answers.lock().expect(UNPOISONED).pop_front();
        let status = next.unwrap_or(204);
        let answer = format!("HTTP/1.1 {status} As-Told\r\ncontent-length: 0\r\n\r\n");
        if socket.get_mut().write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(socket: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request>> {
    let mut webhook_id = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if socket.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().expect("a length"),
                "webhook-id" => value.trim().clone_into(&mut webhook_id),
                _ => {}
            }
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    Ok(Some(Request {
        webhook_id,
        body: serde_json::from_slice(&body).expect("the body that was stored"),
    }))
}
