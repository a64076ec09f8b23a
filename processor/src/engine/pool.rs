//! A pool of workers: who looks for work, when, and how long the others may sleep.
//!
//! While claims come back full, every worker claims for itself. When one comes back short, its worker goes to [`Pool::wait`], where one at a
//! time, the *scout*, waits for a wake-up or for its next look. A scout that leaves hands the place to the next worker at once.
//!
//! NOTIFY costs every committer of the server, so `pgrelay.notify()` sends one only while somebody sleeps. The scout therefore holds a shared
//! advisory lock on the listener's session while it waits. It takes the lock, looks again, and then sleeps; a transaction that asked before the lock
//! and commits after the look is found by re-polling, which starts at 5 ms and grows to POLL_INTERVAL.

use super::crash::Quarantine;
use super::floor::Floor;
use super::lanes::Lanes;
use super::pace::{BatchSize, Paces};
use super::session::WorkerSession;
use super::sleeper::{Hold, Sleeper};
use super::step::StepError;
use shared::db::listener::ListenerHandle;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_postgres::Statement;
use tokio_util::sync::CancellationToken;

/// First pause after work; it doubles up to POLL_INTERVAL.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// Where a worker of the sql pool looks for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Lanes.
    Lanes,
    /// Parallel channels that go in batches.
    Batches,
    /// Parallel channels that run alone.
    Alone,
}

impl Source {
    /// All of them; every worker goes round.
    pub const ALL: [Self; 3] = [Self::Lanes, Self::Batches, Self::Alone];
}

/// A source that was found empty is left out this long while others have work. It is the first pause of a scout, too, so that no look after a
/// pause is left out.
const EMPTY_FOR: Duration = FIRST_PAUSE;

/// What one kind of workers shares.
#[derive(Debug)]
pub struct Pool {
    /// Where claims of batches start.
    pub floor: Floor,
    /// Where claims of channels that run alone start.
    pub floor_apart: Floor,
    /// One claim at a time: two at once would walk over each other's locked rows. A claim takes a fraction of what its batch does.
    pub claiming: tokio::sync::Mutex<()>,
    /// Batches at a time. They keep the server busy by themselves; more of them only take longer each.
    pub batching: tokio::sync::Semaphore,
    /// Events that are left alone for the moment.
    pub quarantine: Quarantine,
    /// Lanes in use.
    pub lanes: Lanes,
    /// Events of the next batch.
    size: Mutex<BatchSize>,
    /// Pace of the channels.
    pub paces: Paces,
    sleeper: Sleeper,
    scout: tokio::sync::Mutex<()>,
    wake: Notify,
    pause: Mutex<Duration>,
    longest_pause: Duration,
    next_due: Mutex<Option<Instant>>,
    empty_since: Mutex<[Option<Instant>; 3]>,
    paused: AtomicBool,
    waiting: AtomicUsize,
}

/// Two for each core of this host: while one waits for the server, another is put together.
fn batches_at_once() -> usize {
    std::thread::available_parallelism().map_or(4, |cores| (cores.get() * 2).max(4))
}

impl Pool {
    /// A pool whose sleepers hold lock `key` on the listener's session. `narrowed`: it serves not all channels, and must not ask
    /// every producer for a NOTIFY.
    #[must_use]
    pub fn new(key: i64, narrowed: bool, longest_pause: Duration) -> Self {
        Self {
            floor: Floor::new(),
            floor_apart: Floor::new(),
            claiming: tokio::sync::Mutex::new(()),
            batching: tokio::sync::Semaphore::new(batches_at_once()),
            quarantine: Quarantine::default(),
            lanes: Lanes::new(),
            size: Mutex::new(BatchSize::new()),
            paces: Paces::default(),
            sleeper: Sleeper::new(key, narrowed),
            scout: tokio::sync::Mutex::new(()),
            wake: Notify::new(),
            pause: Mutex::new(FIRST_PAUSE),
            longest_pause,
            next_due: Mutex::new(None),
            empty_since: Mutex::new([None; 3]),
            paused: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Nothing is known about pending events any more.
    pub fn clear_floors(&self) {
        self.floor.clear();
        self.floor_apart.clear();
    }

    /// How many events the next batch may have.
    pub fn size(&self) -> std::sync::MutexGuard<'_, BatchSize> {
        self.size.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `source` was found empty a moment ago.
    pub fn is_empty(&self, source: Source) -> bool {
        self.empty_since()[source as usize].is_some_and(|since| since.elapsed() < EMPTY_FOR)
    }

    /// `source` was found empty, or not.
    pub fn found(&self, source: Source, empty: bool) {
        self.empty_since()[source as usize] = empty.then(Instant::now);
    }

    /// Every source has to be looked at.
    fn look_everywhere(&self) {
        *self.empty_since() = [None; 3];
    }

    fn empty_since(&self) -> std::sync::MutexGuard<'_, [Option<Instant>; 3]> {
        self.empty_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// While the fleet is paused nobody looks often, and producers are not asked to wake anybody.
    pub fn set_paused(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
        self.wake();
    }

    /// Before a long sleep asks `next_due`: the sleep must not outlast the time the next event is due.
    pub async fn ask_next_due(
        &self,
        session: &WorkerSession,
        next_due: &Statement,
    ) -> Result<(), StepError> {
        if self.sleeps_long() {
            let rows = session.look(next_due, &[]).await?;
            let milliseconds: Option<f64> = rows.first().and_then(|row| row.get(0));
            self.due_after(milliseconds.map(|ms| Duration::from_secs_f64(ms.max(0.0) / 1000.0)));
        }
        Ok(())
    }

    /// Whether the next pause is long enough to ask when the next event is due.
    fn sleeps_long(&self) -> bool {
        const LONG: Duration = Duration::from_millis(40);
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) >= LONG
    }

    /// The next event is due after `delay`: the scout looks then.
    fn due_after(&self, delay: Option<Duration>) {
        /// Its time is the server's, and the sleep is ours.
        const LATER: Duration = Duration::from_millis(1);
        *self.next_due() = delay.map(|delay| Instant::now() + delay + LATER);
    }

    fn next_due(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.next_due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There may be work: the scout looks now.
    pub fn wake(&self) {
        self.look_everywhere();
        self.set_pause(FIRST_PAUSE);
        self.wake.notify_one();
    }

    /// A claim found something: more may follow soon.
    pub async fn found_work(&self) {
        self.set_pause(FIRST_PAUSE);
        // When everybody is at work, producers need not send anything.
        self.sleeper.release_unless(|| self.is_awaited()).await;
    }

    /// A claim came back full: there is work for another worker.
    pub async fn found_backlog(&self) {
        if self.is_awaited() {
            self.wake.notify_one();
        }
        self.found_work().await;
    }

    fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Waits until another look is worth it. Returns early when the drain begins.
    pub async fn wait(&self, listener: Option<&ListenerHandle>, drain: &CancellationToken) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        tokio::select! {
            () = drain.cancelled() => {}
            () = self.scout(listener) => {}
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    async fn scout(&self, listener: Option<&ListenerHandle>) {
        let _place = self.scout.lock().await;
        if self.paused.load(Ordering::Relaxed) {
            self.sleeper.release_unless(|| false).await;
            tokio::select! {
                () = self.wake.notified() => {}
                () = tokio::time::sleep(self.longest_pause) => {}
            }
            return;
        }
        if self.sleeper.hold(listener).await == Hold::JustTaken {
            // Look once more before sleeping.
            self.look_everywhere();
            return;
        }
        let pause = self.next_pause();
        tokio::select! {
            () = self.wake.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
        self.look_everywhere();
    }

    /// The pause to make now; the next one will be twice as long.
    fn next_pause(&self) -> Duration {
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = *pause;
        *pause = (now * 2).min(self.longest_pause);
        let due = self.next_due().take();
        if let Some(due) = due.map(|due| due.saturating_duration_since(Instant::now()))
            && due < now
        {
            now = due;
            // Should the look come a moment too soon, the next one follows at once.
            *pause = FIRST_PAUSE;
        }
        // Never sooner than a full look is allowed, or the look would see only what lies above the floor.
        now.max(self.floor.until_full_look())
            .min(self.longest_pause)
    }

    fn set_pause(&self, pause: Duration) {
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = pause;
    }
}
