//! Fleet tests: the real binaries on real servers, one behaviour per file. One executable, so that it is linked once.

mod harness_serves_a_database;
mod servers_of_every_version_start;
mod testcontainers_path;
