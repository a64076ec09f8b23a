//! What the fleet tests share: real PostgreSQL servers, a database per test, real mail servers, the real binaries, and waits with an end.
//!
//! A test usually takes a [`database::Database`] and starts a [`processor::Processor`] on it. Tests which break their
//! server take one of their own with [`postgres::Server::private`].

#![expect(
    clippy::missing_panics_doc,
    reason = "here every failure is a panic: that is how a test fails"
)]

pub mod bouncer;
pub mod command;
mod config_file;
pub mod daemon;
pub mod database;
mod docker;
pub mod gate;
pub mod mail;
mod paths;
pub mod postgres;
pub mod processor;
pub mod python;
pub mod skip;
mod template;
pub mod wait;

/// True under `tests/run --long`, which adds soaks, repetitions and the other PostgreSQL versions.
#[must_use]
pub fn long_run() -> bool {
    std::env::var_os("PGRELAY_TEST_LONG").is_some_and(|value| value == "1")
}
