//! Mail sent from SQL: one letter for each way that a notification can go, through a real server.

use super::DemoError;
use super::check::Verified;
use super::mail_server::MailServer;
use super::observe::unsigned;
use crate::oneshot::DatabaseError;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use tokio_postgres::Client;

/// Two retries take 3 s and 5 s.
const FINISH_LIMIT: Duration = Duration::from_secs(40);
const LOOK: Duration = Duration::from_millis(50);

const PROFILE: &str = "SELECT pgrelay_notifier.create_profile('demo', 'smtp', pg_catalog.jsonb_build_object(
    'host', '127.0.0.1', 'port', $1::integer, 'security', 'none', 'from', 'Demo <demo@example.org>'))";

/// Each letter's only parameter is its recipient.
const SEND: &str = "SELECT pgrelay_notifier.send_mail('demo', p_to => $1, p_subject => 'Tschüß, große Welt', \
    p_text => E'Grüße aus SQL.\\n.\\nThe line above held a single dot.')";

/// A letter, what the server says to its recipient, and what must become of it.
struct Letter {
    shows: &'static str,
    recipient: &'static str,
    /// `None`: it is taken.
    answer: Option<&'static str>,
    /// The answer is withdrawn after the first attempt.
    passing: bool,
    /// Reports to the notifier, in order; the last one is its status.
    reports: &'static [&'static str],
    /// Rows of pgrelay.log, in order.
    log: &'static [&'static str],
}

const LETTERS: [Letter; 4] = [
    Letter {
        shows: "is taken at once",
        recipient: "zoe@example.org",
        answer: None,
        passing: false,
        reports: &["sent"],
        log: &["ok"],
    },
    Letter {
        shows: "has a full mailbox, which is emptied before the second attempt",
        recipient: "full@example.org",
        answer: Some("452 4.2.2 Mailbox full"),
        passing: true,
        reports: &["retry", "sent"],
        log: &["retry_scheduled", "ok"],
    },
    Letter {
        shows: "is unknown: a permanent failure, never tried again",
        recipient: "unknown@example.org",
        answer: Some("550 5.1.1 No such user"),
        passing: false,
        reports: &["failed"],
        log: &["error"],
    },
    Letter {
        shows: "is greylisted for longer than the two retries of the channel: a transient failure, given up",
        recipient: "grey@example.org",
        answer: Some("450 4.7.1 Come back later"),
        passing: false,
        reports: &["retry", "retry", "failed"],
        log: &["retry_scheduled", "retry_scheduled", "max_retries_exceeded"],
    },
];

/// A letter on its way.
struct Posted {
    letter: &'static Letter,
    notification: i64,
}

/// All letters.
pub(super) struct Correspondence<'a> {
    client: &'a Client,
    server: &'a MailServer,
    posted: Vec<Posted>,
}

impl<'a> Correspondence<'a> {
    /// Sends the letters, and returns when each has come to its end.
    pub(super) async fn hold(
        client: &'a Client,
        server: &'a MailServer,
    ) -> Result<Self, DemoError> {
        let answers = LETTERS.iter().filter_map(|letter| letter.answer_now(false));
        server.answer(&answers.collect::<Vec<_>>())?;
        let failed = || DatabaseError::statement("sending mail");
        let port = i32::from(server.port());
        client.execute(PROFILE, &[&port]).await.map_err(failed())?;
        let mut correspondence = Self {
            client,
            server,
            posted: Vec::new(),
        };
        for letter in &LETTERS {
            let row = client.query_one(SEND, &[&letter.recipient]).await;
            correspondence.posted.push(Posted {
                letter,
                notification: row.map_err(failed())?.get(0),
            });
        }
        correspondence.wait_for_ends().await?;
        Ok(correspondence)
    }

    async fn wait_for_ends(&self) -> Result<(), DemoError> {
        const LOOKS: &str = "
            SELECT bool_and(s.attempts > 0), bool_and(s.finished_at IS NOT NULL), count(*) FILTER (WHERE s.finished_at IS NULL)
            FROM pgrelay_notifier.notification_status AS s WHERE s.id = ANY($1)";
        let ids: Vec<i64> = self
            .posted
            .iter()
            .map(|letter| letter.notification)
            .collect();
        let started = Instant::now();
        loop {
            let row = self.client.query_one(LOOKS, &[&ids]).await;
            let row = row.map_err(DatabaseError::statement("watching the mail"))?;
            let (all_tried, all_ended): (bool, bool) = (row.get(0), row.get(1));
            if all_ended {
                return Ok(());
            }
            if all_tried {
                let answers = LETTERS.iter().filter_map(|letter| letter.answer_now(true));
                self.server.answer(&answers.collect::<Vec<_>>())?;
            }
            if started.elapsed() > FINISH_LIMIT {
                return Err(DemoError::MailStalled {
                    seconds: FINISH_LIMIT.as_secs(),
                    unfinished: unsigned(row.get(2)),
                });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Compares what has become of the letters in the notifier, in the log and in the mailbox.
    pub(super) async fn verify(&self, verified: &mut Verified) -> Result<(), DemoError> {
        const REPORTS: &str = "SELECT a.status FROM pgrelay_notifier.attempt_status AS a WHERE a.notification_id = $1 ORDER BY a.id";
        const STATUS: &str =
            "SELECT s.status FROM pgrelay_notifier.notification_status AS s WHERE s.id = $1";
        const LOG: &str = "
            SELECT l.status FROM pgrelay.log AS l JOIN pgrelay.queue AS q ON q.id = l.queue_id
            WHERE q.action_type = 'notify' AND q.payload = $1::bigint::text ORDER BY l.id";
        const MESSAGE_ID: &str = "SELECT n.message ->> 'message_id' FROM pgrelay_notifier.notifications AS n WHERE n.id = $1";
        let mailbox = self.server.delivered()?;
        for Posted {
            letter,
            notification,
        } in &self.posted
        {
            let to = letter.recipient;
            let last = &letter.reports[letter.reports.len() - 1..];
            for (what, place, query, expected) in [
                (
                    "reports",
                    "pgrelay_notifier.attempts",
                    REPORTS,
                    letter.reports,
                ),
                ("status", "pgrelay_notifier.notifications", STATUS, last),
                ("log rows", "pgrelay.log", LOG, letter.log),
            ] {
                let found = self.texts(query, *notification).await?;
                let what = format!("mail to {to}, {what} {}", expected.join(", "));
                let agree = found
                    .iter()
                    .zip(expected)
                    .filter(|(found, expected)| found == *expected);
                // One that is too many counts as well.
                let surplus = found.len().saturating_sub(expected.len());
                verified.number(
                    &what,
                    place,
                    count(expected.len()),
                    count(agree.count() + surplus),
                );
            }
            let id = self.texts(MESSAGE_ID, *notification).await?.concat();
            let delivered = mailbox
                .iter()
                .filter(|mail| has_message_id(mail, &id))
                .count();
            let expected = u64::from(last == ["sent"]);
            let what = format!("mail to {to}, messages with its Message-ID");
            verified.number(&what, "the mailbox", expected, count(delivered));
        }
        let sent = LETTERS
            .iter()
            .filter(|letter| letter.reports.ends_with(&["sent"]));
        verified.number(
            "messages",
            "the mailbox",
            count(sent.count()),
            count(mailbox.len()),
        );
        Ok(())
    }

    async fn texts(&self, query: &str, notification: i64) -> Result<Vec<String>, DemoError> {
        let rows = self.client.query(query, &[&notification]).await;
        let rows = rows.map_err(DatabaseError::statement("reading what became of the mail"))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// The statement, the life of each letter, and the first message as it was received.
    pub(super) async fn tell(&self) -> Result<String, DemoError> {
        let first = LETTERS[0].recipient;
        let mut text = format!(
            "Mail through Postfix on 127.0.0.1:{}, of which the first is\n  {}\n",
            self.server.port(),
            SEND.replace("$1", &format!("'{first}'"))
        );
        for posted in &self.posted {
            text += &self.life(posted).await?;
        }
        let mailbox = self.server.delivered()?;
        if let Some(mail) = mailbox.iter().find(|mail| mail.contains(first)) {
            let _ = writeln!(text, "What Postfix has delivered to {first}:");
            for line in mail.lines() {
                let _ = writeln!(text, "  | {line}");
            }
        }
        Ok(text)
    }

    /// A letter, as the two views of the notifier tell it.
    async fn life(&self, posted: &Posted) -> Result<String, DemoError> {
        const LIFE: &str = "
            SELECT s.status, s.attempts, a.attempt, a.status, coalesce(a.detail, a.provider_ref, ''), a.elapsed_ms,
                extract(epoch FROM a.reported_at - s.created_at)::float8
            FROM pgrelay_notifier.notification_status AS s
            JOIN pgrelay_notifier.attempt_status AS a ON a.notification_id = s.id
            WHERE s.id = $1
            ORDER BY a.id";
        let rows = self.client.query(LIFE, &[&posted.notification]).await;
        let rows = rows.map_err(DatabaseError::statement("reading what became of the mail"))?;
        let Some(first) = rows.first() else {
            return Ok(String::new());
        };
        let (status, attempts): (String, i32) = (first.get(0), first.get(1));
        let mut text = format!(
            "  notification {} to {}, who {}: {status}, attempts {attempts}\n",
            posted.notification, posted.letter.recipient, posted.letter.shows
        );
        for row in &rows {
            let (attempt, status): (i32, String) = (row.get(2), row.get(3));
            let (detail, took): (String, i32) = (row.get(4), row.get(5));
            let at: f64 = row.get(6);
            let _ = writeln!(
                text,
                "    {at:6.2} s  attempt {attempt}, {took} ms: {status}; {detail}"
            );
        }
        Ok(text)
    }
}

impl Letter {
    /// What the server says to its recipient, before or after all letters have been tried once.
    fn answer_now(&self, tried: bool) -> Option<(&'static str, &'static str)> {
        let answer = self.answer.filter(|_| !(tried && self.passing))?;
        Some((self.recipient, answer))
    }
}

fn has_message_id(mail: &str, id: &str) -> bool {
    let mut header = mail.lines().take_while(|line| !line.is_empty());
    header.any(|line| {
        line.strip_prefix("Message-ID:")
            .is_some_and(|found| found.trim() == id)
    })
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
