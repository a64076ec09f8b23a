//! The manual pages in `conf/man` are what the command lines, the exit codes and the shipped configuration file say.
//!
//! `WRITE_MANUALS=1 cargo test -p pepsi-failure-bouncer --test manuals` writes them anew.

#[path = "manuals/command.rs"]
mod command;
#[path = "manuals/configuration.rs"]
mod configuration;

use clap::CommandFactory;
use pg_relay_processor::config::ProcessorConfig;
use serde::de::DeserializeOwned;
use shared::config::{Document, PostgresConfig};
use std::path::Path;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../conf/man");

/// The page that is checked in is the one that is generated.
fn is_up_to_date(name: &str, generated: &str) {
    let generated = tidied(generated);
    let path = Path::new(DIRECTORY).join(name);
    if std::env::var_os("WRITE_MANUALS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &generated).expect("writing the page");
    }
    let shipped = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        shipped == generated,
        "{name} is out of date; WRITE_MANUALS=1 cargo test -p pepsi-failure-bouncer --test manuals writes it anew"
    );
}

/// Every part comes with the same definition of an apostrophe, and an empty date that is not there at all moves what follows it.
fn tidied(page: &str) -> String {
    const APOSTROPHE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";
    let page = page.replace(APOSTROPHE, "").replacen("  \"", " \"\" \"", 1);
    format!("{APOSTROPHE}{page}")
}

#[test]
fn of_the_bouncer() {
    let page = command::page(&<pepsi_failure_bouncer::cli::Cli as CommandFactory>::command());
    is_up_to_date("pepsi-failure-bouncer.1", &page);
}

#[test]
fn of_the_processor() {
    let page = command::page(&<pg_relay_processor::cli::Cli as CommandFactory>::command());
    for subcommand in ["run", "check", "install", "upgrade", "status", "demo"] {
        assert!(page.contains(&format!(".SS {subcommand}")), "{subcommand}");
    }
    is_up_to_date("pg-relay-processor.1", &page);
}

#[test]
fn of_the_configuration_file() {
    let page = configuration::page();
    let entries = configuration::sections();
    let of = |section: &str| -> Vec<String> {
        let found = entries.iter().find(|other| other.name == section);
        let keys = found.unwrap().keys.iter().map(|key| key.name.clone());
        keys.collect()
    };
    // Every key that a program knows is explained, in the order in which an error lists them.
    assert_eq!(
        of(PostgresConfig::SECTION),
        known_keys::<PostgresConfig>(PostgresConfig::SECTION)
    );
    assert_eq!(
        of(ProcessorConfig::SECTION),
        known_keys::<ProcessorConfig>(ProcessorConfig::SECTION)
    );
    let bouncer = pepsi_failure_bouncer::config::BouncerConfig::SECTION;
    assert_eq!(
        of(bouncer),
        known_keys::<pepsi_failure_bouncer::config::BouncerConfig>(bouncer)
    );
    for key in entries.iter().flat_map(|section| &section.keys) {
        assert!(!key.text.is_empty(), "{} is not explained", key.name);
    }
    is_up_to_date("pepsi.conf.5", &page);
}

/// The keys a section accepts, from the error about one it does not.
fn known_keys<T: DeserializeOwned + Default>(section: &str) -> Vec<String> {
    let text = format!("[{section}]\nNO_SUCH_KEY = 1");
    let document = Document::parse("pepsi.conf", &text).expect("valid TOML");
    let refused = document.section::<T>(section).err();
    let message = refused.expect("an unknown key is refused").to_string();
    let (_, known) = message
        .split_once("known are ")
        .expect("the known keys are listed");
    known.split(", ").map(str::to_owned).collect()
}
