//! Measures the queue: how fast it drains, how soon an action starts, what a call costs; how fast the failure bouncer sweeps, how fast mail is
//! sent, and what a view costs its writers. `tests/bench` builds and runs it.
//!
//! Everything is measured in one run on one throw-away server whose commits reach the disk, with release builds.
//! Each number comes as a line of JSON on standard output, with what it is compared to and what it aims at. Machines differ, and so do
//! hours: an aim that is not met is shown, never an error.

mod auto_mv;
mod drains;
mod enqueue;
mod latency;
mod mails;
mod options;
mod pgbench;
mod report;
mod stage;
mod sweep;

use std::process::ExitCode;

use fleet_tests::postgres::{PrivateOptions, Server};

use options::Options;
use report::Report;

/// Generous, so that no checkpoint falls into a measurement: each begins with one.
const SETTINGS: &[(&str, &str)] = &[
    ("shared_buffers", "512MB"),
    ("max_wal_size", "8GB"),
    ("checkpoint_timeout", "1h"),
];

fn main() -> ExitCode {
    let names = [
        drains::names(),
        latency::names(),
        enqueue::names(),
        sweep::names(),
        mails::names(),
        auto_mv::names(),
    ]
    .concat();
    let options = match Options::parse(std::env::args().skip(1), &names) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("bench: {problem}");
            return ExitCode::from(64);
        }
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        // On Ctrl-C everything is dropped, so that no server stays behind.
        tokio::select! {
            () = measure(&options) => ExitCode::SUCCESS,
            _ = tokio::signal::ctrl_c() => ExitCode::from(130),
        }
    })
}

async fn measure(options: &Options) {
    let server = Server::private(PrivateOptions {
        fsync: true,
        settings: SETTINGS,
        ..PrivateOptions::default()
    })
    .await;
    eprintln!("measuring on: {}", server.source());
    let mut report = Report::new(options);
    drains::measure(&server, options, &mut report).await;
    latency::measure(&server, options, &mut report).await;
    enqueue::measure(&server, options, &mut report).await;
    sweep::measure(&server, options, &mut report).await;
    mails::measure(&server, options, &mut report).await;
    auto_mv::measure(&server, options, &mut report).await;
    report.summarise();
}
