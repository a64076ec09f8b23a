//! Microsoft 365.

use super::document::Fields;
use super::steps::Steps;
use super::{Failure, Sent};
use std::time::Instant;

/// Tokens.
#[derive(Debug, Default)]
pub struct Tokens {}

/// Sends one mail through Microsoft Graph.
pub async fn send(
    _id: i64,
    _tokens: &Tokens,
    _profile: &Fields<'_>,
    _message: &Fields<'_>,
    _deadline: Instant,
    _steps: &Steps,
) -> Result<Sent, Failure> {
    todo!()
}
