//! How fast mail is sent, and what a mail server that has fallen silent costs the events beside it.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fleet_tests::mail::peer::{Peer, Phase};
use fleet_tests::mail::sink::Sink;
use fleet_tests::postgres::Server;
use fleet_tests::processor::{self, Processor};
use fleet_tests::wait::SOON;
use lettre::Message;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::options::Options;
use crate::report::{Aim, Measurement, Report, median};
use crate::stage::Stage;

/// Notify workers, and connections of whatever they are compared to.
pub(crate) const WORKERS: usize = 16;
const UNIT: &str = "mails/s";
const SOURCE: &str = "mail_smtp_source";
const PLAIN: &str = "mail_plain_loop";
const SENT: &str = "mail_sent";
/// Octets of a message's body.
const BODY: usize = 1000;
/// Of the profile: nothing here waits as long.
const TIMEOUT: u64 = 120;
const CHANNEL: &str = "pg_relay_notifier.send";

pub(crate) fn names() -> Vec<String> {
    [SOURCE, PLAIN, SENT].map(str::to_owned).to_vec()
}

pub(crate) async fn measure(server: &Server, options: &Options, report: &mut Report) {
    if ![SOURCE, PLAIN, SENT].iter().any(|name| options.wants(name)) {
        return;
    }
    let sink = match Sink::start(&[]).await {
        Ok(sink) => sink,
        Err(why) => {
            eprintln!("  no mail is measured: {why}");
            return;
        }
    };
    let count = options.scale(1_000, 5_000);
    let mut rates: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..options.rounds() {
        let round = [
            (SOURCE, by_smtp_source(&sink, count)),
            (PLAIN, by_plain_loop(&sink, count).await),
            (SENT, by_processor(server, &sink, count).await),
        ];
        for (name, rate) in round {
            eprintln!("  {name}: {rate:.0} {UNIT}");
            rates.entry(name).or_default().push(rate);
        }
    }
    let rate = |name: &str| rates.get(name).and_then(|rates| median(rates));
    let compositions = [
        (
            SOURCE,
            format!("smtp-source, {WORKERS} sessions, one mail each"),
        ),
        (
            PLAIN,
            format!("composed by lettre, {WORKERS} tasks, a connection for each mail"),
        ),
    ];
    for (name, notes) in compositions {
        if let Some(rate) = rate(name) {
            report.add(Measurement::new(name, rate, UNIT).noting(notes));
        }
    }
    let notes = format!(
        "{count} notifications of {BODY} octets, {WORKERS} notify workers, every one claimed and settled durably"
    );
    for (label, to, aim) in [
        (SENT, SOURCE, Aim::RatioAtLeast(0.5)),
        ("mail_sent_beside_plain_loop", PLAIN, Aim::None),
    ] {
        if let (Some(sent), Some(other)) = (rate(SENT), rate(to)) {
            let line = Measurement::new(label, sent, UNIT).compared(to, Some(sent / other));
            report.add(line.aiming(aim).noting(notes.clone()));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand mails")]
fn rate_of(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

fn by_smtp_source(sink: &Sink, count: usize) -> f64 {
    let started = Instant::now();
    let status = Command::new("/usr/sbin/smtp-source")
        .args(["-s", &WORKERS.to_string(), "-m", &count.to_string()])
        .args(["-l", &BODY.to_string()])
        .args(["-f", "app@test.example", "-t", "user@test.example"])
        .arg(format!("127.0.0.1:{}", sink.port()))
        .stdin(Stdio::null())
        .status()
        .expect("starting smtp-source");
    assert!(status.success(), "smtp-source ended with {status}");
    rate_of(count, started.elapsed())
}

/// What a program without a queue would do.
async fn by_plain_loop(sink: &Sink, count: usize) -> f64 {
    let port = sink.port();
    let started = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..WORKERS {
        let share = count / WORKERS + usize::from(worker < count % WORKERS);
        tasks.spawn(async move {
            for _ in 0..share {
                send_one(port).await.expect("sending a mail to smtp-sink");
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.expect("a task of the plain loop");
    }
    rate_of(count, started.elapsed())
}

async fn send_one(port: u16) -> std::io::Result<()> {
    let message = Message::builder()
        .from("App <app@test.example>".parse().expect("an address"))
        .to("user@test.example".parse().expect("an address"))
        .subject("Hello")
        .message_id(None)
        .body(body())
        .expect("a message");
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await?);
    hear(&mut stream).await?;
    for line in [
        "EHLO bench.test.example",
        "MAIL FROM:<app@test.example>",
        "RCPT TO:<user@test.example>",
        "DATA",
    ] {
        stream
            .get_mut()
            .write_all(format!("{line}\r\n").as_bytes())
            .await?;
        hear(&mut stream).await?;
    }
    let mut content = message.formatted();
    content.extend(b"\r\n.\r\n");
    stream.get_mut().write_all(&content).await?;
    hear(&mut stream).await?;
    stream.get_mut().write_all(b"QUIT\r\n").await?;
    hear(&mut stream).await
}

/// A reply, to its last line.
async fn hear(stream: &mut BufReader<TcpStream>) -> std::io::Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        if line.as_bytes().get(3) != Some(&b'-') {
            break;
        }
    }
    let accepted = line.starts_with(['2', '3']);
    accepted
        .then_some(())
        .ok_or_else(|| std::io::Error::other(line))
}

fn body() -> String {
    let line = "lorem ipsum dolor sit amet, consectetur adipisici\n";
    line.repeat(BODY / line.len())
}

async fn by_processor(server: &Server, sink: &Sink, count: usize) -> f64 {
    let stage = with_mail(server, sink.port()).await;
    let before = send(&stage, count).await;
    stage.settle_down().await;
    let mut processor = with_workers(&stage, 1).await;
    let events = i64::try_from(count).expect("a few thousand");
    let rate = stage.rate(CHANNEL, events, before).await;
    processor.terminate();
    processor.wait_exit(SOON).await;
    let sent = "SELECT count(*) FROM pgrelay_notifier.notifications WHERE status = 'sent'";
    assert_eq!(stage.db.query_one::<i64>(sent, &[]).await, events);
    rate
}

/// The plain drain, while every notify worker of the same Processor waits for a reply that does not come.
pub(crate) async fn drain_beside_silence(server: &Server, events: i64, sql_workers: u16) -> f64 {
    let peer = Peer::start().await;
    peer.hold(Some(Phase::Connect));
    let stage = with_mail(server, peer.port()).await;
    send(&stage, WORKERS).await;
    let mut rate = f64::NAN;
    // As in the plain drain, it is the second one that counts.
    for number in 1..=2 {
        let before = stage.enqueue("noop", events, "now()").await;
        stage.settle_down().await;
        let mut processor = with_workers(&stage, sql_workers).await;
        rate = stage.rate("noop", events, before).await;
        peer.wait_for_held(WORKERS * number).await;
        // It would wait for its mail.
        processor.kill();
    }
    let unsent = "SELECT count(*) FROM pgrelay_notifier.notifications WHERE attempts = 0";
    let held = i64::try_from(WORKERS).expect("a few");
    assert_eq!(
        stage.db.query_one::<i64>(unsent, &[]).await,
        held,
        "none has ended"
    );
    rate
}

/// A stage with the notifier, and a profile for a server on this host.
async fn with_mail(server: &Server, port: u16) -> Stage {
    let stage = Stage::new(server).await;
    let installed = processor::command(&stage.db, &["install", "--with", "notifier"]).await;
    assert!(installed.code == 0, "installing the notifier: {installed}");
    let profile = json!({
        "host": "127.0.0.1", "port": port, "security": "none", "from": "App <app@test.example>", "timeout_seconds": TIMEOUT,
    });
    let create = "SELECT pgrelay_notifier.create_profile('bench', 'smtp', $1)::text";
    stage.db.query_one::<String>(create, &[&profile]).await;
    stage
}

/// Sends notifications, and returns the largest id of an event that was there before.
async fn send(stage: &Stage, count: usize) -> i64 {
    let before = "SELECT coalesce(max(id), 0) FROM pgrelay.queue";
    let before = stage.db.query_one::<i64>(before, &[]).await;
    let message = json!({"to": "user@test.example", "subject": "Hello", "text": body()});
    let send = "SELECT count(pgrelay_notifier.send('bench', $1)) FROM generate_series(1, $2::int8)";
    let count = i64::try_from(count).expect("a few thousand");
    stage.db.query_one::<i64>(send, &[&message, &count]).await;
    before
}

async fn with_workers(stage: &Stage, sql_workers: u16) -> Processor {
    stage
        .processor_with(|config| {
            config
                .set("SQL_WORKERS", sql_workers)
                .set("NOTIFY_WORKERS", WORKERS)
        })
        .await
}
