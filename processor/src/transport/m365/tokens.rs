//! Tokens, kept until shortly before they expire.
//!
//! Invariants:
//! * for one key one request for a token is under way at a time; those who wait for it share what it brings, also when that is a failure;
//! * whoever fetches may be cancelled or run out of time at any point: then the next in line fetches, and nobody waits beyond their own deadline;
//! * a failure is for those who waited, and never for those who come later;
//! * a token that was refused is dropped only while it is the one that is kept, so that many refusals of one token lead to one new token.

use super::endpoint::Grant;
use crate::transport::Failure;
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};
use shared::failure::{Evidence, Network};
use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::timeout_at;

/// A token is not used in its last minutes: clocks differ, and mails take time.
const LONGEST_MARGIN: Duration = Duration::from_mins(5);
/// Tokens of a profile that nobody has sent with for so long are forgotten; they have expired by then.
const IDLE: Duration = Duration::from_hours(2);
/// Most keys at a time; beyond it the one that is unused for the longest goes first.
const KEYS_MAX: usize = 1000;

/// The tokens of this Processor.
#[derive(Default)]
pub struct Tokens(Mutex<HashMap<Key, Entry>>);

/// What a token is good for and was asked for with.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Key {
    authority: String,
    tenant: String,
    client: String,
    /// SHA-256.
    secret: [u8; 32],
    scope: String,
}

struct Entry {
    used: Instant,
    slot: Arc<Slot>,
}

/// A token.
#[derive(Clone)]
pub(super) struct Token {
    secret: SecretString,
    /// The number of the flight that brought it.
    flight: u64,
}

#[derive(Default)]
struct Slot {
    /// Held by whoever fetches.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many requests have come to an end.
    flights: u64,
    /// What the latest of them brought.
    latest: Option<Result<Kept, Failure>>,
}

struct Kept {
    token: Token,
    fresh_until: Instant,
}

impl Tokens {
    /// A token for `key`: the one that is kept, or what `fetch` brings.
    pub(super) async fn get<F>(
        &self,
        key: Key,
        deadline: Instant,
        fetch: impl FnOnce() -> F,
    ) -> Result<Token, Failure>
    where
        F: Future<Output = Result<Grant, Failure>>,
    {
        let slot = self.slot(key);
        let arrived = {
            let state = lock(&slot.state);
            if let Some(fresh) = state.fresh() {
                return Ok(fresh);
            }
            state.flights
        };
        let Ok(_turn) = timeout_at(deadline.into(), slot.turn.lock()).await else {
            let text =
                "no token within the time for the attempt: another notification is fetching it"
                    .to_owned();
            return Err(Failure::new(
                Evidence::Network(Network::Timeout),
                text.clone(),
                text,
            ));
        };
        if let Some(outcome) = lock(&slot.state).since(arrived) {
            return outcome;
        }
        let asked = Instant::now();
        match fetch().await {
            // Others have more time: what one of them learns is worth more than that this one had too little.
            Err(failure) if Instant::now() >= deadline => Err(failure),
            result => lock(&slot.state).land(asked, result),
        }
    }

    /// The server has refused `token`.
    pub(super) fn refuse(&self, key: &Key, token: &Token) {
        let slot = lock(&self.0).get(key).map(|entry| Arc::clone(&entry.slot));
        if let Some(slot) = slot {
            let mut state = lock(&slot.state);
            if matches!(&state.latest, Some(Ok(kept)) if kept.token.flight == token.flight) {
                state.latest = None;
            }
        }
    }

    fn slot(&self, key: Key) -> Arc<Slot> {
        let now = Instant::now();
        let mut entries = lock(&self.0);
        if !entries.contains_key(&key) {
            make_room(&mut entries, now);
        }
        let entry = entries.entry(key).or_insert_with(|| Entry {
            used: now,
            slot: Arc::default(),
        });
        entry.used = now;
        Arc::clone(&entry.slot)
    }
}

impl Debug for Tokens {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("keys", &lock(&self.0).len())
            .finish()
    }
}

impl Key {
    pub(super) fn new(
        authority: &str,
        tenant: &str,
        client: &str,
        secret: &str,
        scope: &str,
    ) -> Self {
        Self {
            authority: authority.to_owned(),
            tenant: tenant.to_owned(),
            client: client.to_owned(),
            secret: Sha256::digest(secret).into(),
            scope: scope.to_owned(),
        }
    }
}

impl Token {
    /// What a server is shown.
    pub(super) const fn secret(&self) -> &SecretString {
        &self.secret
    }
}

impl State {
    fn fresh(&self) -> Option<Token> {
        match &self.latest {
            Some(Ok(kept)) if Instant::now() < kept.fresh_until => Some(kept.token.clone()),
            Some(_) | None => None,
        }
    }

    /// What may be used by one who came when `arrived` flights had ended: anything that was brought since.
    fn since(&self, arrived: u64) -> Option<Result<Token, Failure>> {
        match &self.latest {
            Some(Ok(kept)) if self.flights != arrived => Some(Ok(kept.token.clone())),
            Some(Err(failure)) if self.flights != arrived => Some(Err(failure.clone())),
            Some(_) | None => self.fresh().map(Ok),
        }
    }

    fn land(&mut self, asked: Instant, result: Result<Grant, Failure>) -> Result<Token, Failure> {
        self.flights += 1;
        let kept = result.map(|grant| Kept {
            token: Token {
                secret: grant.token,
                flight: self.flights,
            },
            fresh_until: asked + fresh_for(grant.lifetime),
        });
        let outcome = match &kept {
            Ok(kept) => Ok(kept.token.clone()),
            Err(failure) => Err(failure.clone()),
        };
        self.latest = Some(kept);
        outcome
    }
}

/// How much of its lifetime a token is used for.
fn fresh_for(lifetime: Duration) -> Duration {
    lifetime.saturating_sub(LONGEST_MARGIN.min(lifetime / 10))
}

fn make_room(entries: &mut HashMap<Key, Entry>, now: Instant) {
    entries.retain(|_, entry| now.duration_since(entry.used) < IDLE);
    if entries.len() >= KEYS_MAX
        && let Some(oldest) = entries.values().map(|entry| entry.used).min()
    {
        entries.retain(|_, entry| entry.used != oldest);
    }
}

/// What is behind it is whole even after a panic: every change is a single assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
