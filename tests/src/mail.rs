//! Real mail servers, on loopback and in directories of their own, and what reads back the messages they received.
//!
//! [`postfix::Postfix`] is the receiver of most tests and answers each recipient as it is told to; [`exim::Exim`] is a second one; [`sink::Sink`] takes
//! load. [`peer::Peer`] is for what no real server does on request: to stop in a given phase.

pub mod authority;
pub mod exim;
pub mod maildir;
pub mod peer;
pub mod postfix;
mod program;
pub mod reading;
pub mod sink;
