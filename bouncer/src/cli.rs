//! The command line.

use clap::Parser;
use clap::error::ErrorKind;
use shared::exit::Exit;

/// Hands messages that failed or timed out to the bounce stage, so that their senders hear of it.
#[derive(Debug, Parser)]
#[command(name = "pepsi-failure-bouncer", version)]
pub(crate) struct Cli {}

/// Reads the arguments of this process. What clap has to say it says here: help and version on
/// stdout, complaints on stderr; the error is the code to exit with.
pub(crate) fn parse() -> Result<Cli, Exit> {
    Cli::try_parse().map_err(|error| {
        let exit = match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Drained,
            _ => Exit::Usage,
        };
        // A closed stdout or stderr leaves nobody to tell.
        drop(error.print());
        exit
    })
}
