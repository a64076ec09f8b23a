//! The second part, on the throw-away server: messages of the mail pipeline fail and time out, and pepsi-failure-bouncer hands them to the
//! bounce stage, first swept, then one by one as they fail. Every place a message is said to be at is looked up.

mod bouncer;

use super::check::Verified;
use super::server::Server;
use super::{APP, DemoError};
use crate::oneshot::{self, DatabaseError, Report};
use crate::schema::{PEPSI, install};
use bouncer::Bouncer;
use shared::exit::Exit;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use tokio_postgres::Client;

/// The stage that runs the messages of the demo, and the one they are bounced to.
const STAGE: &str = "relay";
const BOUNCE_STAGE: &str = "bounce";
/// Messages that fail while the service listens.
const LISTENED: u64 = 100;
/// A message is there within milliseconds; a sweep, a minute later, is not to take the credit.
const LIMIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(5);

/// Shows it, unless the bouncer is not installed beside this program.
pub(super) async fn show(server: &Server) -> Result<Report, DemoError> {
    let Some(program) = bouncer::program() else {
        return Ok(Report::done(
            "\npepsi-failure-bouncer is not beside this program: its part is left out",
        ));
    };
    let target = server.target();
    install(&target.connector, &PEPSI).await?;
    let session = oneshot::open(&target.connector, APP).await?;
    let bouncer = Bouncer::new(program, server, BOUNCE_STAGE)?;
    let mut stage = Stage {
        client: &session.client,
        verified: Verified::default(),
        text: "\nThe mail pipeline, on the same server. A stage that gives up leaves its message failed or timeout in pepsi.ingress:\n".to_owned(),
    };
    stage.sweep(&bouncer).await?;
    stage.listen(&bouncer).await?;
    let report = stage.report();
    session.close().await;
    Ok(report)
}

/// What is told, and what was looked up for it.
struct Stage<'a> {
    client: &'a Client,
    verified: Verified,
    text: String,
}

impl Stage<'_> {
    /// What is stuck already is swept.
    async fn sweep(&mut self, bouncer: &Bouncer) -> Result<(), DemoError> {
        let failed = self.sent(STAGE, "failed", "550 no such user").await?;
        let timed_out = self.sent(STAGE, "timeout", "no answer").await?;
        let done = self.sent(STAGE, "done", "").await?;
        let at_bounce = self.sent(BOUNCE_STAGE, "failed", "no route").await?;
        self.tell("$ pepsi-failure-bouncer --once");
        let said = bouncer.once().await?;
        self.tell(said.trim_end());
        let expected = format!("bounced 2 (failed 1, timeout 1), left 1 at stage {BOUNCE_STAGE}");
        self.expect("a sweep that says what it did", said.trim_end() == expected);
        for (id, place, why) in [
            (failed, "bounce/pending", "its sender will hear of it"),
            (timed_out, "bounce/pending", "so will this one's"),
            (done, "relay/done", "delivered: nothing to do"),
            (
                at_bounce,
                "bounce/failed",
                "left alone: a bounce that fails is not bounced",
            ),
        ] {
            let found = self.place(id).await?;
            self.tell(&format!("message {id} is at {found} ({why})"));
            self.expect(&format!("message {id} at {place}"), found == place);
        }
        Ok(())
    }

    /// Messages that fail while the service listens.
    async fn listen(&mut self, bouncer: &Bouncer) -> Result<(), DemoError> {
        let mut service = bouncer.listen().await?;
        self.tell(&format!(
            "the service listens; {LISTENED} messages fail, one after the other"
        ));
        let mut waits = Vec::new();
        let mut last = 0;
        for _ in 0..LISTENED {
            let began = Instant::now();
            last = self.message(STAGE, "failed", "550 no such user").await?;
            self.wait_until_bounced(last).await?;
            waits.push(began.elapsed());
        }
        waits.sort();
        let median = waits[waits.len() / 2].as_secs_f64() * 1000.0;
        self.tell(&format!(
            "each is at stage {BOUNCE_STAGE}, {median:.1} ms after it was sent (median)"
        ));
        // The bounce stage made a notification of it and passed it on; that one cannot be relayed either.
        self.pass_on(last).await?;
        self.wait_until_bounced(last).await?;
        self.tell(&format!("message {last} became a notification that cannot be relayed: moved back, for the stage to drop it"));
        let code = service.stop().await?;
        self.expect("a clean end of the service", code == Some(0));
        let _ = writeln!(
            self.text,
            "\nThe trail of message {last}, from pepsi.ingress_trail:"
        );
        let steps = self.trail(last).await?;
        self.verified
            .number("moves of the message", "pepsi.ingress_trail", 3, steps);
        let stuck = "SELECT count(*) FROM pepsi.ingress WHERE status IN ('failed', 'timeout') AND stage <> 'bounce'";
        let stuck: i64 = self.ask(stuck, &[]).await?;
        self.verified.number(
            "messages still stuck",
            "pepsi.ingress",
            0,
            stuck.unsigned_abs(),
        );
        let moved = "SELECT count(DISTINCT ingress_id) FROM pepsi.ingress_trail WHERE application = 'pepsi-failure-bouncer'";
        let moved: i64 = self.ask(moved, &[]).await?;
        self.verified.number(
            "messages bounced",
            "pepsi.ingress_trail",
            LISTENED + 2,
            moved.unsigned_abs(),
        );
        Ok(())
    }

    fn tell(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn expect(&mut self, what: &str, found: bool) {
        self.verified
            .number(what, "pepsi.ingress", 1, u64::from(found));
    }

    /// The same, with a line about it.
    async fn sent(&mut self, stage: &str, status: &str, error: &str) -> Result<i64, DemoError> {
        let id = self.message(stage, status, error).await?;
        let why = if error.is_empty() { "" } else { ": " };
        self.tell(&format!(
            "message {id} ran at stage {stage} and is {status}{why}{error}"
        ));
        Ok(id)
    }

    /// A message whose run at `stage` has ended with `status`.
    async fn message(&self, stage: &str, status: &str, error: &str) -> Result<i64, DemoError> {
        let send = "
            INSERT INTO pepsi.ingress (stage, status, worker, started_at, sender, recipients, message)
            VALUES ($1, 'running', 'demo', clock_timestamp(), 'ann@example.org',
                '[{\"address\": \"bob@example.net\", \"notify\": [\"FAILURE\"]}]', 'Subject: hello')
            RETURNING id";
        let id: i64 = self.ask(send, &[&stage]).await?;
        let end = "UPDATE pepsi.ingress SET status = $2, error = nullif($3, '') WHERE id = $1 RETURNING id";
        self.ask(end, &[&id, &status, &error]).await
    }

    /// What the bounce stage and the stage behind it would have done.
    async fn pass_on(&self, id: i64) -> Result<(), DemoError> {
        for change in [
            "SET status = 'running', worker = 'demo'",
            "SET stage = 'relay', status = 'running', sender = ''",
            "SET status = 'failed', error = '550 no such sender'",
        ] {
            let sql = format!("UPDATE pepsi.ingress {change} WHERE id = $1 RETURNING id");
            self.ask::<i64>(&sql, &[&id]).await?;
        }
        Ok(())
    }

    async fn place(&self, id: i64) -> Result<String, DemoError> {
        let sql = "SELECT stage || '/' || status FROM pepsi.ingress WHERE id = $1";
        self.ask(sql, &[&id]).await
    }

    async fn wait_until_bounced(&self, id: i64) -> Result<(), DemoError> {
        let started = Instant::now();
        loop {
            let place = self.place(id).await?;
            if place == format!("{BOUNCE_STAGE}/pending") {
                return Ok(());
            }
            if started.elapsed() > LIMIT {
                return Err(DemoError::NotBounced { id, place });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Tells the way of a message; returns how many steps it had.
    async fn trail(&mut self, id: i64) -> Result<u64, DemoError> {
        let sql = "
            SELECT format('%s s  %s/%s -> %s/%s  by %s%s',
                to_char(extract(epoch FROM t.at - min(t.at) OVER ()), '990.00'),
                t.from_stage, t.from_status, t.to_stage, t.to_status, t.application, ', because of: ' || t.error)
            FROM pepsi.ingress_trail AS t
            WHERE t.ingress_id = $1
            ORDER BY t.id";
        let rows = self.client.query(sql, &[&id]).await;
        let rows = rows.map_err(DatabaseError::statement("reading the trail of a message"))?;
        for row in &rows {
            self.tell(row.get(0));
        }
        Ok(rows.len() as u64)
    }

    async fn ask<T: tokio_postgres::types::FromSqlOwned>(
        &self,
        sql: &str,
        parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<T, DemoError> {
        let row = self.client.query_one(sql, parameters).await;
        let row = row.map_err(DatabaseError::statement("working with pepsi.ingress"))?;
        Ok(row.get(0))
    }

    fn report(mut self) -> Report {
        for mismatch in self.verified.mismatches() {
            let _ = writeln!(self.text, "MISMATCH  {mismatch}");
        }
        let numbers = self.verified.numbers.len();
        let wrong = self.verified.mismatches().count();
        let verdict = if wrong == 0 {
            format!("all {numbers} looks at pepsi.ingress and its trail found what they should")
        } else {
            format!("{wrong} of {numbers} looks found something else")
        };
        let _ = writeln!(self.text, "\n{verdict}");
        let mut report = Report::done(self.text);
        if wrong > 0 {
            report.exit = Exit::Bug;
        }
        report
    }
}
