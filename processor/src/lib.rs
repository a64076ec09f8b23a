//! The Processor of pg_relay: claims the events of `pgrelay.queue`, runs their actions and settles them.

pub mod action;
pub mod cli;
pub mod config;
pub mod demo;
pub mod engine;
pub mod oneshot;
pub mod preflight;
pub mod run;
pub mod schema;
pub mod status;
pub mod transport;
