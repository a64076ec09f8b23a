//! What a registered materialised view costs those who write to its sources.

use std::time::{Duration, Instant};

use fleet_tests::database::Database;
use fleet_tests::postgres::Server;
use fleet_tests::processor;

use crate::options::Options;
use crate::pgbench::{self, Length};
use crate::report::{Aim, Measurement, Report, median};
use crate::stage::Stage;

const WRITERS: &str = "auto_mv_writers_8";
const OPEN_WRITERS: &str = "auto_mv_open_writers";
const LOAD: &str = "auto_mv_load";
const CLIENTS: u32 = 8;
const LOADED: i64 = 200_000;

/// A transaction such as pgbench's own: three updates, a look and an insert. Only the last touches the source.
const TRANSACTION: &str = "\\set account random(1, 100000)\n\\set teller random(1, 1000)\n\\set delta random(-5000, 5000)\n\
BEGIN;\n\
UPDATE public.accounts SET balance = balance + :delta WHERE id = :account;\n\
SELECT balance FROM public.accounts WHERE id = :account;\n\
UPDATE public.tellers SET balance = balance + :delta WHERE id = :teller;\n\
INSERT INTO public.history (account, teller, delta) VALUES (:account, :teller, :delta);\n\
END;\n";

const TABLES: &str = "
CREATE TABLE public.accounts (id integer PRIMARY KEY, balance bigint NOT NULL DEFAULT 0, filler text NOT NULL DEFAULT repeat('x', 80)) WITH (fillfactor = 70);
CREATE TABLE public.tellers (id integer PRIMARY KEY, balance bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50);
CREATE TABLE public.history (account integer, teller integer, delta integer, at timestamptz NOT NULL DEFAULT now());
INSERT INTO public.accounts (id) SELECT g FROM generate_series(1, 100000) AS g;
INSERT INTO public.tellers (id) SELECT g FROM generate_series(1, 1000) AS g;
CREATE MATERIALIZED VIEW public.moved AS SELECT teller, sum(delta) AS delta FROM public.history GROUP BY teller";

const REGISTER: &str =
    "SELECT pgauto_mv.register('public.moved', p_refresh_lag => 1, p_max_wait => 2)";
const WATCH: &str =
    "SELECT pgauto_mv.register('public.moved', p_refresh_lag => 3600, p_max_wait => 0)";
const UNREGISTER: &str = "SELECT pgauto_mv.unregister('public.moved')";

pub(crate) fn names() -> Vec<String> {
    [WRITERS, OPEN_WRITERS, LOAD].map(str::to_owned).to_vec()
}

pub(crate) async fn measure(server: &Server, options: &Options, report: &mut Report) {
    if options.wants(WRITERS) {
        writers(server, options, report).await;
    }
    if options.wants(OPEN_WRITERS) {
        open_writers(server, report).await;
    }
    if options.wants(LOAD) {
        load(server, options, report).await;
    }
}

async fn stage(server: &Server) -> Stage {
    let stage = Stage::new(server).await;
    let output = processor::command(&stage.db, &["install", "--with", "auto-mv"]).await;
    assert_eq!(output.code, 0, "{output}");
    stage.db.execute(TABLES).await;
    stage.db.execute("VACUUM ANALYZE").await;
    stage
}

/// Turn and turn about, so that all meet the same machine. What the trigger costs and what the refreshes take away from the writers are two things:
/// once nothing is due for as long as is measured.
async fn writers(server: &Server, options: &Options, report: &mut Report) {
    let stage = stage(server).await;
    let _processor = stage.processor(4).await;
    let length = Length::Seconds(options.scale(2, 5));
    let (mut without, mut watched, mut refreshed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.scale(5, 9) {
        without.push(one_run(&stage.db, length).await);
        watched.push(registered(&stage.db, WATCH, length).await);
        refreshed.push(registered(&stage.db, REGISTER, length).await);
        eprintln!(
            "  {WRITERS}: {:.0} without, {:.0} with the trigger, {:.0} with refreshes",
            without[without.len() - 1],
            watched[watched.len() - 1],
            refreshed[refreshed.len() - 1]
        );
    }
    let value = |rates: &[f64]| median(rates).expect("at least one round");
    let ratio = |rates: &[f64]| {
        let pairs = rates.iter().zip(&without);
        median(&pairs.map(|(with, bare)| with / bare).collect::<Vec<_>>())
    };
    let reference = format!("{WRITERS}_without");
    report
        .add(Measurement::new(&reference, value(&without), "tx/s").noting("no view is registered"));
    let line = Measurement::new(WRITERS, value(&watched), "tx/s")
        .compared(&reference, ratio(&watched))
        .aiming(Aim::RatioAtLeast(0.9));
    report.add(line.noting(format!(
        "{CLIENTS} clients write to the source of a view that is not due while it is measured"
    )));
    let line = Measurement::new(format!("{WRITERS}_refreshed"), value(&refreshed), "tx/s")
        .compared(&reference, ratio(&refreshed));
    report.add(line.noting("the same, and a Processor refreshes the view on the same cores"));
}

async fn registered(db: &Database, register: &str, length: Length) -> f64 {
    db.execute(register).await;
    let rate = one_run(db, length).await;
    db.execute(UNREGISTER).await;
    rate
}

async fn one_run(db: &Database, length: Length) -> f64 {
    db.execute("TRUNCATE public.history; CHECKPOINT").await;
    pgbench::run(db, TRANSACTION, CLIENTS, length).await
}

/// How long a second writer takes while a first one stays open.
async fn open_writers(server: &Server, report: &mut Report) {
    const WRITE: &str = "BEGIN; INSERT INTO public.history VALUES (1, 1, 1)";
    let stage = stage(server).await;
    stage.db.execute(REGISTER).await;
    let (first, second) = (stage.db.connect().await, stage.db.connect().await);
    first.batch_execute(WRITE).await.expect("the first writer");
    let started = Instant::now();
    let transaction = format!("{WRITE}; COMMIT");
    let written = second.batch_execute(&transaction);
    let written = tokio::time::timeout(Duration::from_secs(30), written).await;
    let waited = started.elapsed().as_secs_f64() * 1000.0;
    assert!(
        written.is_ok_and(|result| result.is_ok()),
        "the second writer came to no end"
    );
    first
        .batch_execute("COMMIT")
        .await
        .expect("the first writer");
    let line = Measurement::new(OPEN_WRITERS, waited, "ms").aiming(Aim::ValueAtMost(100.0));
    report.add(line.noting("a second writer, while a first one has not committed"));
}

/// What a bulk load queues, and what it costs.
async fn load(server: &Server, options: &Options, report: &mut Report) {
    let stage = stage(server).await;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds() {
        without.push(load_once(&stage.db).await);
        stage.db.execute(REGISTER).await;
        with.push(load_once(&stage.db).await);
        let queued: i64 = stage.db.query_one("SELECT greatest((SELECT count(*) FROM pgrelay.queue WHERE status = 'pending' AND channel <> 'pg_auto_mv.upkeep'), (SELECT count(*) FROM pgauto_mv.mv_events))", &[]).await;
        assert_eq!(queued, 1, "events that one load has queued");
        stage.db.execute(UNREGISTER).await;
        stage.db.execute("DELETE FROM pgrelay.queue").await;
    }
    let value = |times: &[f64]| median(times).expect("at least one round");
    let reference = format!("{LOAD}_without");
    report.add(
        Measurement::new(&reference, value(&without), "rows/s").noting("no view is registered"),
    );
    let ratio = value(&with) / value(&without);
    let line = Measurement::new(LOAD, value(&with), "rows/s")
        .compared(reference, Some(ratio))
        .aiming(Aim::RatioAtLeast(0.9));
    report.add(line.noting(format!(
        "{LOADED} rows in one statement, which queue one event"
    )));
}

async fn load_once(db: &Database) -> f64 {
    db.execute("TRUNCATE public.history; DELETE FROM pgauto_mv.mv_events; DELETE FROM pgrelay.queue WHERE status = 'pending'; CHECKPOINT").await;
    let started = Instant::now();
    db.execute(&format!(
        "INSERT INTO public.history SELECT 1, 1, 1 FROM generate_series(1, {LOADED})"
    ))
    .await;
    let seconds = started.elapsed().as_secs_f64();
    f64::from(i32::try_from(LOADED).expect("few rows")) / seconds
}
