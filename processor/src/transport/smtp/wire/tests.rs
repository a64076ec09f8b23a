use super::{Handed, Wire};
use crate::transport::smtp::veil::Veil;
use shared::failure::Network;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;

/// A wire, and the other end of it. Buffers hold `buffer` bytes in each direction.
fn wire(buffer: usize, limit: Duration) -> (Wire<DuplexStream>, DuplexStream) {
    let (ours, theirs) = duplex(buffer);
    (
        Wire::new(ours, Instant::now() + limit, Veil::default()),
        theirs,
    )
}

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(50);

/// What is read of a server that says `said` and is then silent, or closes.
async fn answer(said: &[u8], closes: bool) -> Result<u16, Network> {
    let (mut wire, mut server) = wire(1 << 20, if closes { LONG } else { SHORT });
    server.write_all(said).await.unwrap();
    if closes {
        drop(server);
    }
    wire.answer().await.map(|answer| answer.code())
}

#[tokio::test]
async fn replies_end_with_crlf_or_lf() {
    assert_eq!(answer(b"250-a\r\n250 b\r\n", false).await, Ok(250));
    assert_eq!(answer(b"250-a\n250 b\n", false).await, Ok(250));
}

#[tokio::test]
async fn an_end_before_within_and_after_a_reply_are_three_things() {
    assert_eq!(answer(b"", true).await, Err(Network::Closed));
    assert_eq!(answer(b"25", true).await, Err(Network::HalfReply));
    assert_eq!(answer(b"250 ok", true).await, Err(Network::HalfReply));
    assert_eq!(answer(b"250-ok\r\n", true).await, Err(Network::HalfReply));
    assert_eq!(answer(b"250 ok\r\n", true).await, Ok(250));
    assert_eq!(answer(b"250-ok\r\n", false).await, Err(Network::Timeout));
    assert_eq!(answer(b"junk\r\n", true).await, Err(Network::NoReply));
}

#[tokio::test]
async fn a_reply_without_end_is_given_up_at_a_fixed_size() {
    let endless_line = vec![b'2'; 1 << 20];
    let endless_lines = b"250-more\r\n".repeat(100_000);
    for said in [endless_line, endless_lines] {
        let (mut wire, mut server) = wire(4096, LONG);
        let flood = async {
            // Ends when the other side has had enough and is gone.
            server.write_all(&said).await.is_err()
        };
        let reading = async move {
            let answer = wire.answer().await.map(|answer| answer.code());
            (answer, wire.received.len())
        };
        let (is_cut, (answer, kept)) = tokio::join!(flood, reading);
        assert!(is_cut, "all of it was read");
        assert_eq!(answer, Err(Network::NoReply));
        assert!(kept <= 65_536 + 4096, "{kept} bytes are kept");
    }
}

#[tokio::test]
async fn a_server_that_stops_reading_is_waited_for_until_the_deadline() {
    let (mut wire, _server) = wire(16, SHORT);
    assert_eq!(wire.hand_over(&[b'x'; 1000]).await, Err(Network::Timeout));
}

#[tokio::test]
async fn a_server_that_speaks_before_all_is_handed_over_is_heard() {
    let (mut wire, mut server) = wire(16, LONG);
    server.write_all(b"550 no\r\n").await.unwrap();
    assert_eq!(wire.hand_over(&[b'x'; 1000]).await, Ok(Handed::Interrupted));
    assert_eq!(wire.interruption().await.unwrap().code(), 550);
}

#[tokio::test]
async fn a_server_that_refuses_and_closes_is_heard() {
    let (mut wire, mut server) = wire(16, LONG);
    server.write_all(b"550 no\r\n").await.unwrap();
    drop(server);
    assert_eq!(wire.ask("MAIL FROM:<>").await.unwrap().code(), 550);
}

#[tokio::test]
async fn a_reply_that_was_there_before_its_command_is_none_unless_it_refuses() {
    for (second, expected) in [("250 ok", Err(Network::NoReply)), ("421 bye", Ok(421))] {
        let (mut wire, mut server) = wire(1024, LONG);
        server
            .write_all(format!("250 first\r\n{second}\r\n").as_bytes())
            .await
            .unwrap();
        wire.answer().await.unwrap();
        let answer = wire.ask("NOOP").await.map(|answer| answer.code());
        assert_eq!(answer, expected);
        drop(wire);
        let mut heard = String::new();
        server.read_to_string(&mut heard).await.unwrap();
        assert_eq!(heard, "", "nothing is said to a server that is ahead of us");
    }
}

#[tokio::test]
async fn quit_is_cut_short() {
    let (wire, _server) = wire(1024, LONG);
    let began = Instant::now();
    wire.quit().await;
    assert!(
        began.elapsed() < LONG / 4,
        "QUIT took {:?}",
        began.elapsed()
    );
}
