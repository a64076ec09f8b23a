//! SMTP.

use super::document::Fields;
use super::steps::Steps;
use super::{Failure, Sent};
use std::time::Instant;

/// Sends one mail over a connection of its own.
pub async fn send(
    _id: i64,
    _profile: &Fields<'_>,
    _message: &Fields<'_>,
    _deadline: Instant,
    _steps: &Steps,
) -> Result<Sent, Failure> {
    todo!()
}
