//! Several statements in flight on one connection.

use futures_util::future::{MaybeDone, maybe_done};
use std::pin::Pin;
use std::task::Poll;

type Step<'a, T> = Pin<Box<MaybeDone<Pin<Box<dyn Future<Output = T> + Send + 'a>>>>>;

/// Statements that are sent together, in order, and answered in order. Once one fails, the server refuses those behind
/// it until the transaction is rolled back, so nothing runs after a failure.
pub struct Pipeline<'a, T> {
    steps: std::collections::VecDeque<Step<'a, T>>,
}

impl<'a, T: 'a> Pipeline<'a, T> {
    /// No statements yet, room for `steps`.
    #[must_use]
    pub fn with_capacity(steps: usize) -> Self {
        Self {
            steps: std::collections::VecDeque::with_capacity(steps),
        }
    }

    /// Adds a statement.
    pub fn push(&mut self, step: impl Future<Output = T> + Send + 'a) {
        let step: Pin<Box<dyn Future<Output = T> + Send + 'a>> = Box::pin(step);
        self.steps.push_back(Box::pin(maybe_done(step)));
    }

    /// How many were added and not answered yet.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.steps.len()
    }

    /// Sends them all: tokio-postgres puts a statement on the wire when its future is first polled.
    pub async fn send(&mut self) {
        std::future::poll_fn(|context| {
            for step in &mut self.steps {
                // Finished or not, its answer is taken by next().
                let _answered_already = step.as_mut().poll(context).is_ready();
            }
            Poll::Ready(())
        })
        .await;
    }

    /// The answer to the next statement; `None` after the last one.
    pub async fn next(&mut self) -> Option<T> {
        let mut step = self.steps.pop_front()?;
        step.as_mut().await;
        step.as_mut().take_output()
    }
}
