//! The failure bouncer of PEPSI: a message of `pepsi.ingress` that failed or timed out is handed to the bounce stage, so that its
//! sender hears of it.

pub mod cli;
pub mod config;
pub mod ingress;
pub mod once;
pub mod preflight;
pub mod privilege;
pub mod report;
pub mod service;

/// The binary's name, in front of what it says, and the name its sessions go by.
pub const PROGRAM: &str = "pepsi-failure-bouncer";
