//! What both daemons need and neither owns: the configuration file, database sessions, the
//! judgement of SQLSTATEs and of failed sends, logging, signals and the conversation with systemd.
//!
//! Nothing in here knows the queue or the bounce table.

pub mod backoff;
pub mod config;
pub mod db;
pub mod exit;
pub mod failure;
pub mod finding;
pub mod glob;
pub mod logging;
pub mod oneshot;
pub mod shutdown;
pub mod systemd;
