//! A proxy that refuses, or quietly drops, the start-up parameter `options`, as some connection
//! poolers do.

use fleet_tests::database::Database;
use shared::db::connect::{Connector, Session};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::{Config, SimpleQueryMessage, config::Host};

#[derive(Clone, Copy)]
enum Manner {
    Refuses,
    Drops,
}

/// A session through such a proxy, with lock_timeout as its one setting.
async fn session_through_proxy(manner: Manner) -> (Session, Database) {
    let database = Database::empty().await;
    let config: Config = database
        .url()
        .parse()
        .expect("the harness gives a good URL");
    let Some(Host::Tcp(host)) = config.get_hosts().first() else {
        panic!("the harness's servers are reached through TCP");
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let own_port = listener.local_addr().expect("bound").port();
    tokio::spawn(serve(listener, host.clone(), port, manner));

    let password = config.get_password().unwrap_or(b"none");
    let through = format!(
        "host=127.0.0.1 port={own_port} user={} dbname={} password='{}' sslmode=disable",
        config.get_user().expect("a user in the URL"),
        config.get_dbname().expect("a database in the URL"),
        String::from_utf8_lossy(password),
    );
    let connector = Connector::from_url(&through).expect("a valid string");
    let settings = [("lock_timeout", "123ms".to_owned())];
    let session = connector.connect("proxy test", &settings).await;
    (session.expect("a session through the proxy"), database)
}

async fn serve(listener: TcpListener, host: String, port: u16, manner: Manner) {
    while let Ok((client, _)) = listener.accept().await {
        let host = host.clone();
        tokio::spawn(async move {
            // Either side may hang up whenever it likes.
            drop(pass(client, &host, port, manner).await);
        });
    }
}

async fn pass(mut client: TcpStream, host: &str, port: u16, manner: Manner) -> std::io::Result<()> {
    let length = client.read_u32().await?;
    let mut body = vec![0; length as usize - 4];
    client.read_exact(&mut body).await?;
    let (version, parameters) = body.split_at(4);
    let mut words: Vec<&[u8]> = parameters.split(|&byte| byte == 0).collect();
    if let Some(at) = words.iter().position(|word| *word == b"options") {
        match manner {
            Manner::Refuses => {
                let said = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0";
                client.write_u8(b'E').await?;
                client
                    .write_u32(4 + u32::try_from(said.len()).expect("short"))
                    .await?;
                return client.write_all(said).await;
            }
            Manner::Drops => drop(words.drain(at..at + 2)),
        }
    }
    let parameters = words.join(&0);
    let mut server = TcpStream::connect((host, port)).await?;
    let length = u32::try_from(8 + parameters.len()).expect("short");
    server.write_u32(length).await?;
    server.write_all(version).await?;
    server.write_all(&parameters).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

async fn lock_timeout(session: &Session) -> Option<String> {
    let answer = session.client.simple_query("SHOW lock_timeout").await;
    let answer = answer.expect("SHOW");
    answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    })
}

#[tokio::test]
async fn refused_options_are_set_after_the_login() {
    let (session, _database) = session_through_proxy(Manner::Refuses).await;
    assert!(!session.startup_settings_honoured);
    assert_eq!(lock_timeout(&session).await.as_deref(), Some("123ms"));
}

#[tokio::test]
async fn dropped_options_are_noticed_and_set_after_the_login() {
    let (session, _database) = session_through_proxy(Manner::Drops).await;
    assert!(!session.startup_settings_honoured);
    assert_eq!(lock_timeout(&session).await.as_deref(), Some("123ms"));
}
