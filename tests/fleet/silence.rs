//! A way to a server on which, from some moment on, nothing comes through and nobody is told: packets are dropped. Whoever connects
//! anew gets through.

use std::sync::Arc;

use fleet_tests::postgres::Endpoint;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Forwards connections until it is silenced; ends with the value.
pub(crate) struct SilentProxy {
    port: u16,
    /// How often it was silenced; a connection carries nothing once that is more than when it began.
    silenced: watch::Sender<u32>,
    accepting: tokio::task::JoinHandle<()>,
}

impl SilentProxy {
    pub(crate) async fn start(server: &Endpoint) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let silenced = watch::Sender::new(0);
        let seen = silenced.subscribe();
        let target = Arc::new((server.host().to_owned(), server.port()));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, Arc::clone(&target), seen.clone()));
            }
        });
        Self {
            port,
            silenced,
            accepting,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// From now on the present connections carry nothing; they stay open.
    pub(crate) fn silence(&self) {
        self.silenced.send_modify(|times| *times += 1);
    }
}

impl Drop for SilentProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn forward(
    mut client: TcpStream,
    target: Arc<(String, u16)>,
    mut silenced: watch::Receiver<u32>,
) {
    silenced.mark_unchanged();
    let Ok(mut server) = TcpStream::connect((target.0.as_str(), target.1)).await else {
        return;
    };
    let (mut up, mut down) = ([0; 4096], [0; 4096]);
    loop {
        tokio::select! {
            // Both sockets stay open, and nobody reads them, until the proxy goes.
            _ = silenced.changed() => std::future::pending::<()>().await,
            read = client.read(&mut up) => match read {
                Ok(bytes @ 1..) if server.write_all(&up[..bytes]).await.is_ok() => {}
                _ => return,
            },
            read = server.read(&mut down) => match read {
                Ok(bytes @ 1..) if client.write_all(&down[..bytes]).await.is_ok() => {}
                _ => return,
            },
        }
    }
}
