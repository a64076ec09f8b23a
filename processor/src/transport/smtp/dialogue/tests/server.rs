//! A server in memory that takes everything and writes it down.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// What a server was told: lines of commands, and the message.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) commands: Vec<String>,
    pub(super) message: Option<String>,
}

/// A server that takes everything.
pub(super) async fn take_all(stream: DuplexStream) -> Heard {
    let mut stream = BufReader::new(stream);
    let mut heard = Heard::default();
    stream.write_all(b"220 ready\r\n").await.unwrap();
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).await.unwrap() > 0 {
        let command = String::from_utf8(std::mem::take(&mut line)).unwrap();
        let answer: &[u8] = match command.split([' ', '\r']).next() {
            Some("EHLO") => b"250-x\r\n250-PIPELINING\r\n250-SMTPUTF8\r\n250-8BITMIME\r\n250-SIZE\r\n250 AUTH PLAIN LOGIN XOAUTH2\r\n",
            Some("AUTH") if command.trim_end() == "AUTH LOGIN" => b"334\r\n",
            Some("AUTH") => b"235 ok\r\n",
            Some("DATA") => b"354 go\r\n",
            Some("MAIL" | "RCPT" | "QUIT") => b"250 ok\r\n",
            // The answers of AUTH LOGIN.
            Some(_) if heard.commands.last().is_some_and(|last| last.starts_with("AUTH LOGIN")) => b"334\r\n",
            Some(_) | None => b"235 ok\r\n",
        };
        let is_data = command == "DATA\r\n";
        heard.commands.push(command);
        // Nobody waits for the reply to QUIT.
        stream.write_all(answer).await.ok();
        if is_data {
            heard.message = Some(message(&mut stream).await);
            stream
                .write_all(b"250 2.0.0 Ok: queued as 1\r\n")
                .await
                .unwrap();
        }
    }
    heard
}

/// The message up to the final dot, for a server that takes LF alone for a line end.
async fn message(stream: &mut BufReader<DuplexStream>) -> String {
    let mut message = String::new();
    loop {
        let begin = message.len();
        stream.read_line(&mut message).await.unwrap();
        let line = &message[begin..];
        if matches!(line, ".\r\n" | ".\n") {
            message.truncate(begin);
            return message;
        }
        if line.starts_with('.') {
            message.remove(begin);
        }
    }
}
