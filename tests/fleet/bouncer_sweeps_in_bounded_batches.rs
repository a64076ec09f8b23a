//! A sweep of very many stuck messages: batches of at most 1,000, less than 50 MB of memory, and other writers wait for one batch at most.

use std::time::{Duration, Instant};

use fleet_tests::bouncer;
use fleet_tests::daemon::Daemon;
use fleet_tests::database::Database;
use fleet_tests::long_run;

use crate::bouncer_sweeps_overlap_without_harm::stuck;

const LARGEST_BATCH: i64 = 1_000;
const MEMORY_KB: u64 = 50 * 1024;
/// For the commit and the network, on top of the batch itself.
const SLACK: Duration = Duration::from_millis(20);

/// What the process has needed at most, once it has ended: the last look counts.
fn peak_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Writes to messages just ahead of the sweep until it has ended, and says how long each write took.
async fn write_beside(db: &Database, daemon: &mut Daemon) -> (Vec<Duration>, u64) {
    let session = db.connect().await;
    let next = session
        .prepare("SELECT coalesce(max(ingress_id), 0) FROM pepsi.ingress_trail")
        .await
        .expect("a statement");
    let write = session
        .prepare("UPDATE pepsi.ingress SET error = error WHERE id = $1")
        .await
        .expect("a statement");
    let (mut waits, mut memory) = (Vec::new(), 0);
    while daemon.exit_code().is_none() {
        memory = memory.max(peak_memory(daemon.pid()).unwrap_or(0));
        let at: i64 = session
            .query_one(&next, &[])
            .await
            .expect("the place of the sweep")
            .get(0);
        for ahead in [1, 300, 700] {
            let began = Instant::now();
            session
                .execute(&write, &[&(at + ahead)])
                .await
                .expect("a write");
            waits.push(began.elapsed());
        }
    }
    (waits, memory)
}

#[tokio::test]
async fn measured_with_a_writer_beside_it() {
    let messages: i64 = if long_run() { 1_000_000 } else { 50_000 };
    let db = bouncer::database().await;
    stuck(&db, messages).await;
    // Statistics by which there is next to nothing to move must not mislead it.
    db.execute("ANALYZE pepsi.ingress").await;
    let mut daemon = bouncer::builder(&db)
        .set("LOG_LEVEL", "info")
        .arg("--once")
        .spawn();
    let began = Instant::now();
    let (mut waits, memory) = write_beside(&db, &mut daemon).await;
    let took = began.elapsed();
    assert_eq!(daemon.exit_code(), Some(0), "{}", daemon.logs());
    // What the writer held when the sweep came by was left for the next look.
    let rest = bouncer::builder(&db).arg("--once").run().await;
    assert_eq!(rest.code, 0, "{rest}");
    let moved = "SELECT count(*) = $1 AND count(DISTINCT ingress_id) = $1 FROM pepsi.ingress_trail";
    assert!(db.query_one::<bool>(moved, &[&messages]).await);

    // The rows of one batch have the same xmin. Its length is at least the time from its first row to its last.
    let batches = db
        .rows(
            "SELECT max(b.messages), max(b.seconds), count(*)
             FROM (
                 SELECT count(*) AS messages, extract(epoch FROM max(at) - min(at))::float8 AS seconds
                 FROM pepsi.ingress_trail
                 GROUP BY xmin::text
             ) AS b",
            &[],
        )
        .await;
    let largest: i64 = batches[0].get(0);
    assert!(largest <= LARGEST_BATCH, "a batch of {largest}");
    let longest = Duration::from_secs_f64(batches[0].get(1));

    waits.sort();
    let p99 = waits[waits.len() * 99 / 100 - 1];
    println!(
        "{messages} messages in {took:?}, {memory} kB; {} batches, the longest {longest:?}; {} writes, p99 {p99:?}",
        batches[0].get::<_, i64>(2),
        waits.len()
    );
    // What was locked before the first row was moved is in no trail: twice the time is enough for it.
    assert!(
        p99 <= longest * 2 + SLACK,
        "p99 {p99:?}, the longest batch {longest:?}"
    );
    assert!((1..MEMORY_KB).contains(&memory), "{memory} kB");
    if took > Duration::from_secs(10) {
        assert!(
            daemon.logs().contains("so far"),
            "no progress was shown:\n{}",
            daemon.logs()
        );
    }
}
