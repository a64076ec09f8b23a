//! An address that takes no more connections, and refuses none.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// It lasts as long as the value.
pub(crate) struct Unanswered {
    _listener: TcpListener,
    _queued: Vec<TcpStream>,
}

impl Unanswered {
    /// At `address`, whose port may be 0; returns where.
    pub(crate) async fn at(address: SocketAddr) -> (Self, SocketAddr) {
        /// On loopback whoever is answered at all is answered at once.
        const NO_ANSWER: Duration = Duration::from_millis(300);
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(address).expect("an address");
        let listener = socket.listen(0).expect("a queue");
        let address = listener.local_addr().expect("its address");
        // They fill the queue, and the kernel ignores whoever comes next.
        let mut queued = Vec::new();
        while let Ok(next) = tokio::time::timeout(NO_ANSWER, TcpStream::connect(address)).await {
            queued.push(next.expect("a connection"));
        }
        let unanswered = Self {
            _listener: listener,
            _queued: queued,
        };
        (unanswered, address)
    }
}
