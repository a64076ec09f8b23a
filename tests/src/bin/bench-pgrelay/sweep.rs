//! How fast a sweep of the failure bouncer moves very many stuck messages, beside one plain UPDATE of the same rows.

use std::time::{Duration, Instant};

use fleet_tests::bouncer;
use fleet_tests::database::Database;
use fleet_tests::postgres::Server;

use crate::options::Options;
use crate::report::{Aim, Measurement, Report, median};

const NAME: &str = "sweep_stuck";
const REFERENCE: &str = "sweep_stuck_plain";
const UNIT: &str = "rows/s";
/// Far longer than a sweep takes.
const LIMIT: Duration = Duration::from_mins(10);

/// What the bouncer does, in one transaction and with one lock on everything.
const PLAIN: &str = "UPDATE pepsi.ingress SET stage = 'bounce', status = 'pending'
    WHERE status IN ('failed', 'timeout') AND stage IS DISTINCT FROM 'bounce'";

pub(crate) fn names() -> Vec<String> {
    vec![NAME.to_owned()]
}

pub(crate) async fn measure(server: &Server, options: &Options, report: &mut Report) {
    if !options.wants(NAME) {
        return;
    }
    let messages: u32 = options.scale(50_000, 1_000_000);
    let db = bouncer::database_on(server).await;
    let (mut plain, mut swept, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.rounds() {
        prepare(&db, messages).await;
        let began = Instant::now();
        db.execute(PLAIN).await;
        let update = f64::from(messages) / began.elapsed().as_secs_f64();
        prepare(&db, messages).await;
        let sweep = f64::from(messages) / sweep(&db, messages).await.as_secs_f64();
        eprintln!("  {NAME}: {update:.0} in one UPDATE, {sweep:.0} by the bouncer");
        plain.push(update);
        swept.push(sweep);
        ratios.push(sweep / update);
    }
    let value = |rates: &[f64]| median(rates).expect("at least one round");
    report.add(Measurement::new(REFERENCE, value(&plain), UNIT).noting("one UPDATE of all rows"));
    let line = Measurement::new(NAME, value(&swept), UNIT)
        .compared(REFERENCE, median(&ratios))
        .aiming(Aim::RatioAtLeast(0.5));
    report.add(line.noting(format!(
        "{messages} rows by --once, from start to end of the process"
    )));
}

/// Every run begins with the same rows in a fresh table. What is prepared fires no trigger.
async fn prepare(db: &Database, messages: u32) {
    db.execute("TRUNCATE pepsi.ingress, pepsi.ingress_trail")
        .await;
    db.execute(&format!(
        "BEGIN;
         SET LOCAL session_replication_role = replica;
         INSERT INTO pepsi.ingress (stage, status, worker, error, sender, recipients, message)
         SELECT 'relay', CASE WHEN g % 3 = 0 THEN 'timeout' ELSE 'failed' END, 'worker 1', '550 no such user',
             'ann@example.org', '[{{\"address\": \"bob@example.net\"}}]', convert_to(repeat('x', 200), 'UTF8')
         FROM generate_series(1, {messages}) AS g;
         COMMIT"
    ))
    .await;
    db.execute("VACUUM (ANALYZE) pepsi.ingress").await;
    db.execute("CHECKPOINT").await;
}

/// Runs the bouncer, and says how long that took.
async fn sweep(db: &Database, messages: u32) -> Duration {
    let began = Instant::now();
    let mut bouncer = bouncer::builder(db)
        .set("LOG_LEVEL", "warn")
        .arg("--once")
        .spawn();
    let code = bouncer.wait_exit(LIMIT).await;
    let took = began.elapsed();
    let said = bouncer.stdout();
    assert_eq!(code, 0, "{said}{}", bouncer.logs());
    assert!(said.starts_with(&format!("bounced {messages} ")), "{said}");
    took
}
