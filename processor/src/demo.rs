//! `demo`: every kind of event, and mail, sent through a real Processor and real servers, and messages that a real bouncer hands on; every
//! number checked.
//!
//! Without `--database` the servers are throw-away ones, made from this machine's own binaries and removed at the end. The Processor is
//! this same binary, started as a child with `run`: what is shown is what a service would do.

mod bounce;
mod check;
mod effects;
mod error;
mod interrupt;
mod mail;
mod mail_server;
mod observe;
mod plan;
mod processor;
mod progress;
mod schema;
mod send;
mod server;
mod story;
mod table;
mod tally;
mod views;

pub use error::DemoError;

use crate::PROGRAM;
use crate::oneshot::{self, Complaint, Report};
use crate::schema::{AUTO_MV, Installed, NOTIFIER, PGRELAY, install};
use check::Verified;
use interrupt::Interrupt;
use mail::Correspondence;
use mail_server::MailServer;
use observe::Observer;
use plan::Plan;
use processor::Processor;
use progress::Progress;
use server::Server;
use shared::db::connect::{Connector, Session};
use shared::exit::Exit;
use std::fmt::Write as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use views::Views;

const APP: &str = "pg-relay-processor demo";
/// How many events are sent when `--events` does not say.
const EVENTS: u64 = 10_000;
/// What tidying up a given database may take after Ctrl-C.
const TIDY_LIMIT: Duration = Duration::from_secs(5);

/// The database that events are sent through.
#[derive(Debug)]
pub struct Target {
    /// As the Processor takes it with `--database`.
    pub url: String,
    /// Opens our own sessions.
    pub connector: Connector,
    /// Whether others may work in it.
    pub shared: bool,
}

impl Target {
    /// The one named with `--database`.
    #[must_use]
    pub fn given(url: String, connector: Connector) -> Self {
        Self {
            url,
            connector,
            shared: true,
        }
    }
}

/// Runs the demo, on `given` or on a throw-away server.
pub async fn run(events: Option<u64>, given: Option<Target>) -> Exit {
    let plan = Plan::new(events.unwrap_or(EVENTS));
    // Before anything is started, so that Ctrl-C never leaves anything behind.
    let mut interrupt = match Interrupt::install() {
        Ok(interrupt) => interrupt,
        Err(error) => return oneshot::complain(PROGRAM, &error),
    };
    let shown = match given {
        Some(target) => Box::pin(show(&target, plan, &mut interrupt)).await,
        None => match Server::start().await {
            Ok(server) => Box::pin(show_all(&server, plan, &mut interrupt)).await,
            Err(error) => Err(error),
        },
    };
    match shown {
        Ok(report) => say(&report),
        Err(DemoError::Interrupted { signal }) => {
            eprintln!(
                "pg-relay-processor: the demo was interrupted; what it had started is stopped"
            );
            // Everything has been dropped by now. The number is the one a shell gives a process that a signal ended.
            std::process::exit(128 + signal);
        }
        Err(error) => oneshot::complain(PROGRAM, &error),
    }
}

fn say(report: &Report) -> Exit {
    match report.print() {
        Ok(()) => report.exit,
        Err(error) => {
            eprintln!("pg-relay-processor: standard output cannot be written: {error}");
            Exit::Bug
        }
    }
}

/// Both parts. Messages that fail on purpose have no place in a database that others work in.
async fn show_all(
    server: &Server,
    plan: Plan,
    interrupt: &mut Interrupt,
) -> Result<Report, DemoError> {
    let mut report = show(server.target(), plan, interrupt).await?;
    let bounced = tokio::select! {
        bounced = bounce::show(server) => bounced?,
        signal = interrupt.next() => return Err(DemoError::Interrupted { signal }),
    };
    report.text += &bounced.text;
    if report.exit == Exit::Drained {
        report.exit = bounced.exit;
    }
    Ok(report)
}

async fn show(target: &Target, plan: Plan, interrupt: &mut Interrupt) -> Result<Report, DemoError> {
    let installed = install(&target.connector, &PGRELAY).await?;
    let mail_server = prepare_mail(target).await?;
    // Not in a database with other users: whether it has views to keep fresh is their business.
    if !target.shared {
        install(&target.connector, &AUTO_MV).await?;
    }
    let session = oneshot::open(&target.connector, APP).await?;
    let plan = schema::create(&session.client, plan).await?;
    announce(target, &plan, installed, &session);
    let shown = tokio::select! {
        shown = perform(target, &plan, &session, mail_server.as_ref()) => shown,
        signal = interrupt.next() => Err(DemoError::Interrupted { signal }),
    };
    // A throw-away server takes everything with it.
    if target.shared {
        let tidied = tokio::time::timeout(TIDY_LIMIT, schema::drop(&session.client)).await;
        if !matches!(tidied, Ok(Ok(()))) {
            eprintln!(
                "pg-relay-processor: schema {} and its channels are still there; the next demo removes them",
                schema::NAME
            );
        }
    }
    shown
}

/// The notifier and a mail server. Not in a database with other users, whose notifier, or its absence, is their business.
async fn prepare_mail(target: &Target) -> Result<Option<MailServer>, DemoError> {
    if target.shared {
        return Ok(None);
    }
    if let Some(why) = mail_server::missing() {
        eprintln!("no mail is sent: {why}");
        return Ok(None);
    }
    install(&target.connector, &NOTIFIER).await?;
    MailServer::start().await.map(Some)
}

fn announce(target: &Target, plan: &Plan, installed: Installed, session: &Session) {
    let place = if target.shared {
        target.connector.target()
    } else {
        "a throw-away PostgreSQL server".to_owned()
    };
    eprint!("{}", installed.describe(&PGRELAY, &target.connector));
    eprintln!(
        "{} events go through {} channels on {place} (backend {}) and a Processor of their own.\n\
         The slowest wait for their second retry: 3 s, then 5 s.",
        plan.calls(),
        plan.channels.len(),
        session.backend_pid,
    );
}

/// Sends, waits, stops the Processor, and reads what the log says.
async fn perform(
    target: &Target,
    plan: &Plan,
    session: &Session,
    mail_server: Option<&MailServer>,
) -> Result<Report, DemoError> {
    let started = Instant::now();
    let baseline = check::baseline(&session.client).await?;
    let mut processor = Processor::start(target)?;
    let progress = Progress::new(plan.resolutions());
    let observer = Observer::new(&session.client, baseline);
    let sending = async {
        let sent = send::all(target, plan, &observer).await?;
        observer.everything_is_sent();
        Ok(sent)
    };
    let corresponding = async {
        match mail_server {
            Some(server) => Correspondence::hold(&session.client, server)
                .await
                .map(Some),
            None => Ok(None),
        }
    };
    let refreshing = async {
        if target.shared {
            return Ok(None);
        }
        Views::show(&session.client).await.map(Some)
    };
    let watching = observer.watch(&mut processor, &progress);
    let (sent, (), mail, views) = tokio::try_join!(sending, watching, corresponding, refreshing)?;
    progress.finish();
    let status = processor.stop().await?;
    let took = started.elapsed();
    let mut verified = check::verify(&session.client, plan, &sent, baseline, status).await?;
    let mut story = story::tell(&session.client, baseline).await?;
    if let Some(mail) = mail {
        mail.verify(&mut verified).await?;
        let _ = write!(story, "\n{}", mail.tell().await?);
    }
    if let Some(views) = views {
        views.verify(&mut verified).await?;
        let _ = write!(story, "\n{}", views.tell().await?);
    }
    Ok(report(&verified, &story, took, status, &processor))
}

fn report(
    verified: &Verified,
    story: &str,
    took: Duration,
    status: ExitStatus,
    processor: &Processor,
) -> Report {
    let mut text = format!("\n{}\n{story}\n", table::render(verified));
    for mismatch in verified.mismatches() {
        let _ = writeln!(text, "MISMATCH  {mismatch}");
    }
    let numbers = verified.numbers.len();
    let wrong = verified.mismatches().count();
    let seconds = took.as_secs_f64();
    if wrong == 0 {
        let _ = writeln!(
            text,
            "all {numbers} numbers agree with pgrelay.log ({seconds:.1} s, the Processor ended with {status})"
        );
        return Report::done(text);
    }
    let _ = writeln!(
        text,
        "\nthe Processor's log ends with:\n{}\n{wrong} of {numbers} numbers do not agree",
        processor.log_tail()
    );
    let error = DemoError::Disagreement { wrong, numbers };
    Report {
        text,
        exit: error.exit(),
    }
}
