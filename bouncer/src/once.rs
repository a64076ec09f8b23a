//! `--once`, `--dry-run` and `--check`: one look, and an end.
//!
//! A sweep is a chain of transactions of one batch each. Cut short anywhere, what is committed is bounced and the rest is still stuck;
//! beside another sweep, each message is moved by one of the two.

mod progress;

use crate::ingress::{Bounce, Ingress, Moved, Refusals};
use crate::preflight;
use crate::report::{BounceError, Outcome, Tally};
use progress::Progress;
use shared::db::connect::Connector;
use shared::exit::Exit;
use shared::finding;
use shared::oneshot::Report;
use tracing::{debug, warn};

/// Bounces what is stuck, or only counts it when `dry_run`, and says how much that was.
pub async fn sweep(
    connector: &Connector,
    bounce: &Bounce,
    dry_run: bool,
    json: bool,
) -> Result<Report, BounceError> {
    let looked = preflight::run(connector, bounce).await?;
    let Some(mut ingress) = looked.ingress else {
        return Err(BounceError::Blocked(looked.findings));
    };
    for finding in &looked.findings {
        warn!("{}", finding.text());
    }
    let (tally, complete) = if dry_run {
        (None, true)
    } else {
        let (tally, complete) = all_batches(&mut ingress).await?;
        (Some(tally), complete)
    };
    let stuck = ingress.count().await?;
    ingress.close().await;
    let outcome = Outcome {
        tally: tally.unwrap_or(Tally {
            failed: stuck.failed,
            timeout: stuck.timeout,
        }),
        left: stuck.left,
        stage: bounce.stage.clone(),
        dry_run,
    };
    let text = if json { outcome.json() } else { outcome.line() };
    let mut report = Report::done(text);
    if !complete {
        report.exit = Exit::PreflightBlocked;
    }
    Ok(report)
}

/// Also says whether the table let everything go.
async fn all_batches(ingress: &mut Ingress) -> Result<(Tally, bool), BounceError> {
    let mut refusals = Refusals::default();
    let mut tally = Tally::default();
    let mut progress = Progress::new();
    let mut after = None;
    loop {
        let batch = ingress.bounce_next(after.as_deref()).await?;
        tally.add(&batch);
        refusals.add(&batch);
        for id in batch.moved.iter().map(Moved::shown) {
            debug!(ingress.id = %id, "message {id} bounced");
        }
        progress.show(tally);
        match batch.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    refusals.verdict()?;
    for line in refusals.lines() {
        warn!("{line}");
    }
    Ok((tally, refusals.is_empty()))
}

/// The findings of the preflight.
pub async fn check(
    connector: &Connector,
    bounce: &Bounce,
    json: bool,
) -> Result<Report, BounceError> {
    let looked = preflight::run(connector, bounce).await?;
    if let Some(ingress) = looked.ingress {
        ingress.close().await;
    }
    Ok(finding::report(&looked.findings, json))
}
