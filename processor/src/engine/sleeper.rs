//! The lock by which producers see that somebody sleeps.

use shared::db::listener::ListenerHandle;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio_postgres::Client;

/// Longest wait for the sleeper's lock.
const LOCK_LIMIT: Duration = Duration::from_secs(2);

/// Takes the sleeper's lock beside other sleepers.
const TAKE: &str = "SELECT pg_catalog.pg_try_advisory_lock_shared($1)";
/// Lets go of it.
const RELEASE: &str = "SELECT pg_catalog.pg_advisory_unlock_shared($1)";

/// The shared advisory lock that tells producers somebody sleeps.
#[derive(Debug)]
pub struct Sleeper {
    key: i64,
    narrowed: bool,
    /// The listener session the lock is held on; gone when that session is.
    held_on: tokio::sync::Mutex<Weak<Client>>,
}

/// How the lock came to be held.
#[derive(Debug, PartialEq, Eq)]
pub enum Hold {
    /// It was not held before: look once more before sleeping.
    JustTaken,
    /// It was held already, or cannot be had now.
    AsBefore,
}

impl Sleeper {
    /// Not held. `narrowed`: never held, see [`Pool::new`](super::pool::Pool::new).
    #[must_use]
    pub fn new(key: i64, narrowed: bool) -> Self {
        Self {
            key,
            narrowed,
            held_on: tokio::sync::Mutex::new(Weak::new()),
        }
    }

    /// Sees to it that the lock is held on the present session of `listener`.
    pub async fn hold(&self, listener: Option<&ListenerHandle>) -> Hold {
        if self.narrowed {
            return Hold::AsBefore;
        }
        let Some(client) = listener.and_then(ListenerHandle::client) else {
            return Hold::AsBefore;
        };
        let mut held_on = self.held_on.lock().await;
        if held_on.ptr_eq(&Arc::downgrade(&client)) {
            return Hold::AsBefore;
        }
        // Producers hold the exclusive lock for microseconds while they ask; one that never lets go costs us wake-ups, not events.
        match tokio::time::timeout(LOCK_LIMIT, client.query_one(TAKE, &[&self.key])).await {
            Ok(Ok(row)) if row.get(0) => {
                *held_on = Arc::downgrade(&client);
                Hold::JustTaken
            }
            Ok(Ok(_)) | Err(_) => Hold::AsBefore,
            Ok(Err(error)) => {
                tracing::debug!("the sleeper's lock cannot be taken: {error}");
                Hold::AsBefore
            }
        }
    }

    /// Lets go of the lock, unless `awaited` says that somebody sleeps by it. That is asked while nobody can come to hold it, so that
    /// a sleeper either keeps this one or takes it anew.
    pub async fn release_unless(&self, awaited: impl Fn() -> bool) {
        let mut held_on = self.held_on.lock().await;
        if awaited() {
            return;
        }
        let Some(client) = std::mem::take(&mut *held_on).upgrade() else {
            return;
        };
        // Sent at once, answered some time: nothing here depends on the answer.
        let key = self.key;
        tokio::spawn(async move {
            if let Ok(Err(error)) =
                tokio::time::timeout(LOCK_LIMIT, client.query_one(RELEASE, &[&key])).await
            {
                tracing::debug!("the sleeper's lock cannot be released: {error}");
            }
        });
    }
}
