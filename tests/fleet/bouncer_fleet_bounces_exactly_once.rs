//! Three bouncers on three hosts, killed, cut off and reconnected at random while messages fail: each message is bounced exactly once, and
//! none is lost. The trail says so.

use std::time::{Duration, Instant};

use fleet_tests::bouncer::{self, STAGE};
use fleet_tests::daemon::Daemon;
use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server, StopMode};
use fleet_tests::skip;

use crate::island::Island;

const HOSTS: u32 = 3;
const MESSAGES: i64 = 50_000;
/// Messages that fail in one transaction.
const CHUNK: i64 = 250;
/// Between two such transactions: time for things to happen.
const PACE: Duration = Duration::from_millis(30);

/// A bouncer on a host of its own.
struct Host {
    island: Island,
    bouncer: Option<Daemon>,
    cut: bool,
}

impl Host {
    fn start(&mut self, db: &Database) {
        let builder = bouncer::builder(db)
            .set("SWEEP_INTERVAL", "1s")
            .set("LOG_LEVEL", "info")
            .set_in("pepsi-postgres", "HOST", format!("{}.1", self.island.net))
            .set_in("pepsi-postgres", "CONNECT_TIMEOUT", "500ms");
        let builder = builder.through(&["ip", "netns", "exec", &self.island.name]);
        self.bouncer = Some(builder.spawn());
    }

    fn mend(&mut self) {
        if std::mem::take(&mut self.cut) {
            self.island.mend();
        }
    }

    fn cut(&mut self) {
        if !std::mem::replace(&mut self.cut, true) {
            self.island.cut();
        }
    }
}

/// Numbers that nobody can foresee; the seed is printed, so that a failure can be repeated.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = now.map_or(1, |now| now.subsec_nanos().into());
        println!("seed {seed}");
        Self(seed)
    }

    /// Less than `limit` (Knuth's MMIX generator; its upper bits are the better ones).
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// One thing that happens to one host.
async fn strike(chance: &mut Chance, hosts: &mut [Host], db: &Database) {
    let place = usize::try_from(chance.below(u64::from(HOSTS))).expect("a small number");
    match chance.below(4) {
        0 => {
            // SIGKILL; the next strike on this host, or the end, starts it again.
            match hosts[place].bouncer.take() {
                Some(mut bouncer) => bouncer.kill(),
                None => hosts[place].start(db),
            }
        }
        1 => hosts[place].cut(),
        2 => hosts[place].mend(),
        _ => {
            let end = format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND client_addr = '{}.2'",
                hosts[place].island.net
            );
            db.execute(&end).await;
        }
    }
}

async fn fail_all(db: &Database) {
    let session = db.connect().await;
    for chunk in 0..MESSAGES / CHUNK {
        let (first, last) = (chunk * CHUNK + 1, (chunk + 1) * CHUNK);
        let sql = format!(
            "UPDATE pepsi.ingress SET status = CASE WHEN id % 3 = 0 THEN 'timeout' ELSE 'failed' END WHERE id BETWEEN {first} AND {last}"
        );
        session.batch_execute(&sql).await.expect("failing messages");
        tokio::time::sleep(PACE).await;
    }
}

async fn server_for(islands: &[Island]) -> Server {
    let lines: Vec<String> = islands
        .iter()
        .map(|island| format!("host all pepsi {}.2/32 trust", island.net))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut server = Server::private(PrivateOptions {
        hba: &lines,
        ..PrivateOptions::default()
    })
    .await;
    let here = islands.iter().map(|island| format!("{}.1", island.net));
    let addresses: Vec<String> = std::iter::once("127.0.0.1".to_owned())
        .chain(here)
        .collect();
    server.configure(&[("listen_addresses", &addresses.join(","))]);
    server.restart(StopMode::Fast).await;
    server
}

#[tokio::test]
async fn through_kills_and_cuts() {
    let islands: Option<Vec<Island>> = (1..=HOSTS).map(Island::create).collect();
    let Some(islands) = islands else {
        skip!("network", "network namespaces cannot be made here");
    };
    let server = server_for(&islands).await;
    let db = bouncer::database_on(&server).await;
    db.execute(&format!(
        "INSERT INTO pepsi.ingress (stage, status, sender, recipients, message)
         SELECT 'relay', 'running', '', '[]', '' FROM generate_series(1, {MESSAGES})"
    ))
    .await;
    let mut hosts: Vec<Host> = islands
        .into_iter()
        .map(|island| Host {
            island,
            bouncer: None,
            cut: false,
        })
        .collect();
    for host in &mut hosts {
        host.start(&db);
    }

    let mut chance = Chance::new();
    let began = Instant::now();
    let mut strikes = 0;
    let mut failing = Box::pin(fail_all(&db));
    loop {
        let pause = Duration::from_millis(20 + chance.below(150));
        tokio::select! {
            () = &mut failing => break,
            () = tokio::time::sleep(pause) => {
                strike(&mut chance, &mut hosts, &db).await;
                strikes += 1;
            }
        }
    }
    println!(
        "{MESSAGES} messages failed within {:?}, and {strikes} other things happened",
        began.elapsed()
    );
    for host in &mut hosts {
        host.mend();
        if host.bouncer.is_none() {
            host.start(&db);
        }
    }
    let stuck = "SELECT count(*) FROM pepsi.ingress WHERE status IN ('failed', 'timeout')";
    db.until_equals(stuck, 0_i64, Duration::from_mins(1)).await;

    let trail = db
        .rows(
            "SELECT count(*), count(DISTINCT ingress_id), count(DISTINCT client),
                    bool_and(from_stage = 'relay' AND to_stage = $1 AND to_status = 'pending')
             FROM pepsi.ingress_trail",
            &[&STAGE],
        )
        .await;
    let number = |column| trail[0].get::<_, i64>(column);
    assert_eq!((number(0), number(1)), (MESSAGES, MESSAGES));
    assert!(trail[0].get::<_, bool>(3), "a message went somewhere else");
    assert!(number(2) > 1, "only one host has bounced anything");
    let place = "SELECT count(*) FROM pepsi.ingress WHERE stage = $1 AND status = 'pending'";
    assert_eq!(db.query_one::<i64>(place, &[&STAGE]).await, MESSAGES);
    for host in &mut hosts {
        let bouncer = host.bouncer.as_mut().expect("a bouncer on every host");
        assert_eq!(bouncer.exit_code(), None);
    }
}
