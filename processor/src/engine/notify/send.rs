//! One send, and what ends it: its transport, its time limit, or the loss of the claim.

use crate::engine::session::WorkerSession;
use crate::engine::step::StepError;
use crate::engine::{Engine, report};
use crate::transport::retry::RetryPolicy;
use crate::transport::steps::Steps;
use crate::transport::{Attempted, Failure, LONGEST_TIMEOUT, Notification};
use futures_util::FutureExt;
use shared::failure::{Evidence, Network};
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

/// Beyond the longest timeout of a profile: only a transport that breaks its word takes longer.
const GRACE: Duration = Duration::from_secs(2);

/// Makes the attempt that `began` a moment ago. `Err`: the session was lost, and with it the claim; somebody else may be sending already, so the send is
/// broken off.
pub async fn send(
    engine: &Engine,
    session: &WorkerSession,
    notification: &Notification,
    began: Instant,
    steps: &Steps,
) -> Result<Attempted, StepError> {
    let limit = (LONGEST_TIMEOUT + GRACE).saturating_sub(began.elapsed());
    let attempt = engine.transports.send(notification, began, steps);
    // A defect in a transport must not take the worker with it, and then its siblings, one by one.
    let attempt = tokio::time::timeout(limit, AssertUnwindSafe(attempt).catch_unwind());
    tokio::select! {
        biased;
        attempted = attempt => Ok(match attempted {
            Ok(Ok(attempted)) => attempted,
            Ok(Err(_panic)) => broken_off(
                Network::UnknownOutcome,
                "the transport failed by a defect of this program",
            ),
            Err(_) => broken_off(Network::Timeout, "the transport did not keep to its time limit"),
        }),
        () = session.over() => {
            report::lost_during_send(notification.id);
            Err(StepError::LostDuringSend)
        }
    }
}

fn broken_off(network: Network, summary: &str) -> Attempted {
    let (summary, detail) = (summary.to_owned(), summary.to_owned());
    Attempted {
        result: Err(Failure::new(Evidence::Network(network), summary, detail)),
        retry: RetryPolicy::default(),
    }
}
