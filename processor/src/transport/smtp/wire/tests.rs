use super::{Handed, Wire};
use crate::transport::veil::Veil;
use futures_util::FutureExt;
use shared::failure::Network;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
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

/// Sixteen commands whose first reply is to come, and what a server with small buffers is told that answers each of them with `said` before it reads on.
async fn flight(said: &'static str, buffer: usize) -> (Result<Handed, Network>, Vec<u16>, String) {
    let (mut wire, server) = wire(buffer, LONG);
    let serving = tokio::spawn(async move {
        let mut server = BufReader::new(server);
        let mut heard = String::new();
        while server.read_line(&mut heard).await.unwrap() > 0 {
            if server.write_all(said.as_bytes()).await.is_err() {
                break;
            }
        }
        heard
    });
    let commands: Vec<String> = (0..16).map(|number| format!("NOOP {number}")).collect();
    let handed = wire.hand_over_flight(&commands).await;
    let mut codes = Vec::new();
    if handed == Ok(Handed::Whole) {
        for _ in &commands {
            codes.extend(wire.answer().await.map(|answer| answer.code()));
        }
    }
    drop(wire);
    (handed, codes, serving.await.unwrap())
}

#[tokio::test]
async fn a_server_that_waits_for_its_replies_to_be_read_gets_a_whole_flight() {
    let (handed, codes, heard) =
        flight("250 a reply that does not fit into the buffer\r\n", 16).await;
    assert_eq!(handed, Ok(Handed::Whole));
    assert_eq!(codes, [250; 16]);
    let commands: Vec<String> = (0..16).map(|number| format!("NOOP {number}\r\n")).collect();
    assert_eq!(heard, commands.concat());
}

#[tokio::test]
async fn a_flight_that_is_answered_without_end_is_given_up() {
    let flood = Box::leak("250-more\r\n".repeat(10_000).into_boxed_str());
    let (handed, _, _) = flight(flood, 16).await;
    assert_eq!(handed, Err(Network::NoReply));
}

#[tokio::test]
async fn a_reply_before_the_first_command_of_a_flight_is_none() {
    let (mut wire, mut server) = wire(1024, LONG);
    server.write_all(b"421 bye\r\n").await.unwrap();
    let commands = ["MAIL FROM:<>".to_owned(), "RCPT TO:<a@b>".to_owned()];
    assert_eq!(
        wire.hand_over_flight(&commands).await,
        Ok(Handed::Interrupted)
    );
    assert_eq!(wire.interruption().await.unwrap().code(), 421);
}

#[tokio::test]
async fn a_server_that_closes_within_a_flight_is_heard_to_its_end() {
    let (mut wire, mut server) = wire(16, LONG);
    let commands: Vec<String> = (0..16).map(|_| "NOOP".to_owned()).collect();
    let serving = async {
        server.read_exact(&mut [0; 6]).await.unwrap();
        server.write_all(b"421 bye\r\n").await.unwrap();
        drop(server);
    };
    let (handed, ()) = tokio::join!(wire.hand_over_flight(&commands), serving);
    assert_eq!(handed, Ok(Handed::Whole));
    assert_eq!(wire.answer().await.unwrap().code(), 421);
    assert_eq!(wire.answer().await, Err(Network::Closed));
}

#[tokio::test]
async fn the_reply_to_quit_is_not_waited_for() {
    let (wire, mut server) = wire(1024, LONG);
    assert_eq!(wire.quit().now_or_never(), Some(()));
    let mut heard = String::new();
    server.read_to_string(&mut heard).await.unwrap();
    assert_eq!(heard, "QUIT\r\n");
}

#[tokio::test]
async fn replies_that_are_due_are_waited_for_before_quit_and_not_for_long() {
    let (mut wire, _server) = wire(1024, LONG);
    wire.hand_over(b"MAIL\r\n").await.unwrap();
    let began = Instant::now();
    wire.quit().await;
    assert!(
        began.elapsed() < LONG / 4,
        "QUIT took {:?}",
        began.elapsed()
    );
}
