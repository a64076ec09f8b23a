//! Attempts as the Processor makes them, and programs of their own for what the environment decides.

use pg_relay_processor::transport::secrets::Secrets;
use pg_relay_processor::transport::steps::{Step, Steps};
use pg_relay_processor::transport::{Failure, Notification, Sent, Transports};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::unbounded_channel;

/// One attempt.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) result: Result<Sent, Failure>,
    pub(crate) steps: Vec<Step>,
    pub(crate) took: Duration,
}

impl Outcome {
    /// Everything that is told of it, and to whom.
    pub(crate) fn told(&self) -> String {
        format!("{:?} {:?}", self.result, self.steps)
    }

    pub(crate) fn failure(&self) -> &Failure {
        self.result.as_ref().expect_err("a failure")
    }

    pub(crate) fn sent(&self) -> &Sent {
        self.result
            .as_ref()
            .unwrap_or_else(|failure| panic!("not sent: {failure:?}"))
    }
}

/// Transports for which the variables are `secrets`.
pub(crate) fn transports(secrets: &[(&str, &str)]) -> Transports {
    let secrets: Vec<(String, String)> = secrets
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Transports::new(Secrets::new(
        |_| true,
        move |wanted| {
            let found = secrets.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.clone().into())
        },
    ))
}

/// Attempts notification 7.
pub(crate) async fn attempt(
    transports: &Transports,
    transport: &str,
    profile: &Value,
    message: &Value,
) -> Outcome {
    let notification = Notification {
        id: 7,
        transport: transport.to_owned(),
        profile: profile.clone(),
        message: message.clone(),
    };
    let (sender, mut receiver) = unbounded_channel();
    let began = Instant::now();
    let steps = Steps::new(7, Some(sender));
    let attempted = transports.send(&notification, began, &steps).await;
    let took = began.elapsed();
    drop(steps);
    let mut steps = Vec::new();
    while let Ok(step) = receiver.try_recv() {
        steps.push(step);
    }
    Outcome {
        result: attempted.result,
        steps,
        took,
    }
}

/// What a program has printed: on standard output, and on standard error.
pub(crate) struct Printed {
    pub(crate) output: String,
    pub(crate) log: String,
}

/// Runs the ignored test `name` of this program as a program of its own, with `variables` in its environment.
pub(crate) async fn run_apart(
    name: &'static str,
    variables: Vec<(&'static str, String)>,
) -> Printed {
    let running = tokio::task::spawn_blocking(move || {
        Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", name, "--ignored", "--nocapture"])
            .envs(variables)
            .stdin(Stdio::null())
            .output()
    });
    let output = running
        .await
        .expect("a result")
        .expect("starting this program");
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(
        output.status.success(),
        "{name} failed:\n{stdout}\n{stderr}"
    );
    assert!(
        stdout.contains("1 passed"),
        "there is no test {name}:\n{stdout}"
    );
    Printed {
        output: stdout,
        log: stderr,
    }
}
