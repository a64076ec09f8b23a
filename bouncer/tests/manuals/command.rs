//! A page of section 1, from a command line's own definition.

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use shared::exit::Exit;
use std::io::Write;

/// The page of a program, with a part for each of its commands.
pub(super) fn page(command: &Command) -> String {
    let mut command = command.clone();
    command.build();
    let man = Man::new(command.clone())
        .section("1")
        .source(format!(
            "{} {}",
            command.get_name(),
            command.get_version().unwrap_or_default()
        ))
        .manual("PEPSI and pg_relay");
    let mut page = rendered(|page| {
        man.render_title(page)?;
        man.render_name_section(page)?;
        man.render_synopsis_section(page)?;
        man.render_description_section(page)?;
        man.render_options_section(page)
    });
    let subcommands: Vec<&Command> = command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help")
        .collect();
    if !subcommands.is_empty() {
        page += ".SH COMMANDS\n";
        for subcommand in subcommands {
            page += &part(subcommand);
        }
    }
    page + &exit_status() + &see_also(command.get_name())
}

/// What a command does, and the options it has beside the general ones.
fn part(command: &Command) -> String {
    let mut roff = Roff::default();
    roff.control("SS", [command.get_name()]);
    let about = command.get_about().map(ToString::to_string);
    roff.text([roman(about.unwrap_or_default() + ".")]);
    let own = command.clone().mut_args(|argument| {
        // General options are told once, at the beginning.
        let general = argument.is_global_set() || argument.get_id() == "help";
        argument.hide(general)
    });
    if own.get_arguments().any(|argument| !argument.is_hide_set()) {
        let man = Man::new(own.disable_help_flag(true));
        let options = rendered(|page| man.render_options_section(page));
        return roff.render() + options.replace(".SH OPTIONS\n", "").as_str();
    }
    roff.render()
}

fn exit_status() -> String {
    let mut roff = Roff::default();
    roff.control("SH", ["EXIT STATUS"]);
    for exit in Exit::ALL {
        roff.control("TP", []);
        roff.text([bold(exit.code().to_string())]);
        roff.text([roman(exit.meaning())]);
    }
    roff.render()
}

fn see_also(name: &str) -> String {
    let other = match name {
        "pg-relay-processor" => "pepsi-failure-bouncer",
        _ => "pg-relay-processor",
    };
    let mut roff = Roff::default();
    roff.control("SH", ["FILES"]);
    roff.control("TP", []);
    roff.text([roman(shared::config::DEFAULT_PATH)]);
    roff.text([roman("The configuration of both programs.")]);
    roff.control("SH", ["SEE ALSO"]);
    roff.text([
        bold("pepsi.conf"),
        roman("(5), "),
        bold(other),
        roman("(1)"),
    ]);
    roff.render()
}

/// What is written into memory.
fn rendered(render: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> String {
    let mut page = Vec::new();
    render(&mut page).expect("memory takes everything");
    String::from_utf8(page).expect("what was text stays text")
}
