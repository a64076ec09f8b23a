//! An HTTP server in the test that keeps whole requests and answers by their path.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Gives status and body for the first line of a request.
type Answer = dyn Fn(&str) -> (u16, String) + Send + Sync;

/// Stops listening when it is dropped.
pub(crate) struct Endpoint {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    listening: JoinHandle<()>,
}

impl Endpoint {
    /// One that answers as `answer` says.
    pub(crate) async fn start(
        answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let requests = Arc::default();
        let answer: Arc<Answer> = Arc::new(answer);
        let kept = Arc::clone(&requests);
        let listening = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (answer, kept) = (Arc::clone(&answer), Arc::clone(&kept));
                // Whoever leaves in the middle of a request has his reasons.
                tokio::spawn(async move { serve(socket, &*answer, &kept).await.ok() });
            }
        });
        Self {
            port,
            requests,
            listening,
        }
    }

    /// `http://127.0.0.1:port`.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Whole requests, in the order of their arrival.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("the requests").clone()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// One request; the answer closes the connection.
async fn serve(
    mut socket: TcpStream,
    answer: &Answer,
    kept: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut received = Vec::new();
    while !is_whole(&received) {
        if socket.read_buf(&mut received).await? == 0 {
            return Ok(());
        }
    }
    let request = String::from_utf8_lossy(&received).into_owned();
    let (status, body) = answer(request.lines().next().unwrap_or_default());
    kept.lock().expect("the requests").push(request);
    let head = format!(
        "HTTP/1.1 {status} As-Told\r\ncontent-type: application/json\r\nconnection: close\r\n"
    );
    let length = body.len();
    socket
        .write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes())
        .await
}

fn is_whole(received: &[u8]) -> bool {
    let text = String::from_utf8_lossy(received);
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    received.len() >= head.len() + 4 + length.unwrap_or(0)
}
