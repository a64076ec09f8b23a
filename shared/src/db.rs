//! Sessions with the database, and what its errors mean.

pub mod connect;
pub mod error_chain;
pub mod listener;
pub mod pooler;
pub mod sqlstate;
