//! The Processor of pg_relay: claims the events of `pgrelay.queue`, runs their actions and settles them.

pub mod action;
pub mod cli;
pub mod config;
pub mod demo;
pub mod engine;
pub mod preflight;
pub mod run;
pub mod schema;
pub mod status;
pub mod transport;

pub use shared::oneshot;

/// The binary's name, in front of what it says.
pub const PROGRAM: &str = "pg-relay-processor";
