//! Processors, sessions and the server itself are killed over and over, and every event takes effect exactly once.

use std::time::{Duration, Instant};

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server, StopMode};
use fleet_tests::processor::Processor;
use fleet_tests::wait;
use nix::sys::signal::Signal;

use crate::steps::register;

const EVENTS: i64 = 20_000;
const KILLS: i64 = 50;
const KILLS_PER_RESTART: i64 = 5;
const MEMBERS: usize = 3;

/// Each of them writes its payload into a table that would take it twice; some hold their claim for a while.
const CHANNELS: &[(&str, &str, &str)] = &[
    ("quick", "INSERT INTO effects VALUES ($1::int)", ""),
    (
        "slow",
        "INSERT INTO effects SELECT $1::int FROM pg_sleep(0.005 + 0.045 * random())",
        "",
    ),
    (
        "serial",
        "INSERT INTO effects VALUES ($1::int)",
        "concurrency_mode := 'serial'",
    ),
    (
        "by.payload",
        "INSERT INTO effects SELECT $1::int FROM pg_sleep(0.01)",
        "concurrency_mode := 'per_payload'",
    ),
];

/// The Processors, each with a database role of its own, so that the server can tell whose session is whose.
struct Fleet<'a> {
    db: &'a Database,
    members: Vec<Processor>,
    /// Sessions that were terminated.
    terminated: i64,
}

impl<'a> Fleet<'a> {
    async fn start(db: &'a Database) -> Self {
        for n in 0..MEMBERS {
            db.execute(&format!(
                "CREATE ROLE relay_{n} LOGIN; GRANT pgrelay_processor TO relay_{n}; GRANT INSERT ON effects TO relay_{n}"
            ))
            .await;
        }
        Self {
            db,
            members: (0..MEMBERS).map(|n| start_member(db, n)).collect(),
            terminated: 0,
        }
    }

    /// Kills a Processor of which it is certain that it holds a claim, and starts another in its place.
    async fn kill_one_that_holds_a_claim(&mut self, first: usize) {
        let began = Instant::now();
        for turn in first.. {
            let n = turn % MEMBERS;
            // What a stopped process holds it holds until it is killed.
            self.members[n].signal(Signal::SIGSTOP);
            if self.holds_a_claim(n).await {
                self.members[n].kill();
                self.members[n] = start_member(self.db, n);
                return;
            }
            self.members[n].signal(Signal::SIGCONT);
            assert!(
                began.elapsed() < wait::SOON,
                "no Processor holds a claim; pending: {}",
                pending(self.db).await
            );
        }
    }

    /// Looks until the sessions of stopped member `n` have worked off what it had sent, which two looks that agree show.
    async fn holds_a_claim(&self, n: usize) -> bool {
        // A claim locks rows, so its transaction has an id.
        let sql = "SELECT count(*) FILTER (WHERE state = 'active'),
                       string_agg(pid::text || state_change::text, ',' ORDER BY pid)
                           FILTER (WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL)
                   FROM pg_stat_activity WHERE usename = $1 AND application_name = 'pg-relay-processor sql'";
        let role = format!("relay_{n}");
        let last = std::cell::RefCell::new(None);
        let what = format!("the sessions of {role} to become still");
        wait::until(&what, wait::SOON, || async {
            let rows = self.db.rows(sql, &[&role]).await;
            let active: i64 = rows[0].get(0);
            let held: Option<String> = rows[0].get(1);
            let as_before = last.replace(Some(held.clone())) == Some(held.clone());
            match active {
                0 if as_before => Ok(held.is_some()),
                _ => Err(format!("{active} are active, in transactions: {held:?}")),
            }
        })
        .await
    }

    /// Terminates one session of the fleet, whatever it is for.
    async fn terminate_any(&mut self) {
        let sql = "SELECT count(pg_terminate_backend(a.pid)) FROM (
                       SELECT pid FROM pg_stat_activity WHERE usename ~ '^relay_' ORDER BY random() LIMIT 1
                   ) AS a";
        self.terminated += self.db.query_one::<i64>(sql, &[]).await;
    }

    /// Terminates a session that holds a claim, unless an event has come near to the three crashes that would end it.
    async fn terminate_one_that_holds_a_claim(&mut self) {
        let sql = "SELECT count(pg_terminate_backend(a.pid)) FROM (
                       SELECT pid FROM pg_stat_activity
                       WHERE usename ~ '^relay_' AND application_name = 'pg-relay-processor sql' AND backend_xid IS NOT NULL
                         AND NOT EXISTS (
                             SELECT FROM pgrelay.crashes AS c JOIN pgrelay.queue AS q ON q.id = c.queue_id AND q.status = 'pending'
                             GROUP BY c.queue_id HAVING count(*) > 1)
                       ORDER BY random() LIMIT 1
                   ) AS a";
        wait::until("a session that holds a claim", wait::SOON, || async {
            match self.db.query_one::<i64>(sql, &[]).await {
                0 => Err("none"),
                _ => Ok(()),
            }
        })
        .await;
        self.terminated += 1;
    }
}

fn start_member(db: &Database, n: usize) -> Processor {
    let builder = Processor::builder(db).set("LOG_LEVEL", "info").set_in(
        "pepsi-postgres",
        "USER",
        format!("relay_{n}"),
    );
    Processor::from_daemon(builder.arg("run").spawn())
}

async fn pending(db: &Database) -> i64 {
    let sql = "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending'";
    db.query_one(sql, &[]).await
}

async fn enqueue(db: &Database, from: i64, to: i64) {
    db.execute(&format!(
        "SELECT pgrelay.notify(
             CASE WHEN n % 10 IN (0, 5) THEN 'slow' WHEN n % 10 = 1 THEN 'by.payload' WHEN n % 20 = 2 THEN 'serial' ELSE 'quick' END,
             n::text)
         FROM generate_series({from}, {to}) AS n"
    ))
    .await;
}

#[tokio::test]
async fn twenty_thousand_events_and_fifty_killed_processors() {
    let settings = [("full_page_writes", "on"), ("synchronous_commit", "on")];
    let mut server = Server::private(PrivateOptions {
        settings: &settings,
        ..PrivateOptions::default()
    })
    .await;
    let db = Database::with_schema_on(&server).await;
    db.execute("CREATE TABLE effects (id int)").await;
    for (channel, action, settings) in CHANNELS {
        register(&db, channel, action, settings).await;
    }
    let mut fleet = Fleet::start(&db).await;
    let share = EVENTS / KILLS;
    let mut restarts = 0;
    for kill in 0..KILLS {
        enqueue(&db, kill * share + 1, (kill + 1) * share).await;
        fleet.terminate_one_that_holds_a_claim().await;
        fleet.terminate_any().await;
        let first = usize::try_from(kill).expect("a small number");
        fleet.kill_one_that_holds_a_claim(first).await;
        fleet.terminate_any().await;
        if (kill + 1) % KILLS_PER_RESTART == 0 {
            let mode = [StopMode::Fast, StopMode::Immediate][restarts % 2];
            server.restart(mode).await;
            restarts += 1;
        }
    }
    assert!(restarts >= 10, "{restarts} restarts");
    let terminated = fleet.terminated;
    assert!(terminated >= 100, "{terminated} sessions were terminated");
    wait::until("the backlog to end", Duration::from_secs(90), || async {
        match pending(&db).await {
            0 => Ok(()),
            left => Err(format!("{left} events pending")),
        }
    })
    .await;
    everything_happened_once(&db).await;
    for member in &mut fleet.members {
        assert_eq!(member.exit_code(), None, "a Processor gave up");
        member.terminate();
        assert_eq!(member.wait_exit(wait::SOON).await, 0);
    }
}

async fn everything_happened_once(db: &Database) {
    let rows = db
        .rows(
            "SELECT count(*), count(DISTINCT id), min(id)::bigint, max(id)::bigint FROM effects",
            &[],
        )
        .await;
    let effects: [i64; 4] = [0, 1, 2, 3].map(|place| rows[0].get(place));
    assert_eq!(
        effects,
        [EVENTS, EVENTS, 1, EVENTS],
        "effects, different ones, first, last"
    );
    let rows = db
        .rows(
            "SELECT status, count(*) FROM pgrelay.queue GROUP BY status",
            &[],
        )
        .await;
    let statuses: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(statuses, [("done".to_owned(), EVENTS)]);
    let rows = db
        .rows(
            "SELECT count(*), count(*) FILTER (WHERE status = 'ok'), count(DISTINCT queue_id) FROM pgrelay.log",
            &[],
        )
        .await;
    let log: [i64; 3] = [0, 1, 2].map(|place| rows[0].get(place));
    assert_eq!(
        log,
        [EVENTS, EVENTS, EVENTS],
        "log rows, of them ok, events they are about"
    );
}
