//! pepsi-failure-bouncer: hands messages that failed or timed out to the bounce stage.

mod cli;

use shared::exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::parse() {
        Ok(cli::Cli {}) => {
            eprintln!("pepsi-failure-bouncer: this version bounces nothing yet; see --help");
            Exit::Usage.into()
        }
        Err(exit) => exit.into(),
    }
}
