//! The slots of random cron expressions over ten years, in zones whose clocks do everything clocks do, against an oracle that looks at every minute.

use std::ops::Range;

use fleet_tests::database::describe;
use fleet_tests::long_run;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio_postgres::Client;

use crate::auto_mv_schedule_oracle::Cron;
use crate::auto_mv_schedule_steps as schedules;

const DAY: i64 = 1440;
const YEARS: i64 = 10;

/// Zone, and the first of its ten years.
type Zone = (&'static str, i32);

const HOURLY: &[Zone] = &[
    ("America/New_York", 2021),
    ("Europe/London", 2021),
    // Its winter time is called the summer time of a negative amount.
    ("Europe/Dublin", 2024),
    // Two hours.
    ("Antarctica/Troll", 2020),
];

const AT_MIDNIGHT: &[Zone] = &[
    ("America/Sao_Paulo", 2010),
    ("Asia/Beirut", 2020),
    ("America/Santiago", 2019),
    ("Africa/Cairo", 2022),
];

const ODD: &[Zone] = &[
    // Half an hour.
    ("Australia/Lord_Howe", 2022),
    // At a quarter to three.
    ("Pacific/Chatham", 2020),
    // Backwards and forwards by the moon.
    ("Africa/Casablanca", 2020),
    ("Asia/Gaza", 2021),
];

const SELDOM: &[Zone] = &[
    ("UTC", 2020),
    ("Asia/Kolkata", 2020),
    // New standard times.
    ("America/Caracas", 2007),
    ("Asia/Pyongyang", 2011),
    // A day that never was, in 2011.
    ("Pacific/Apia", 2005),
];

/// Ten years of a zone.
struct Trial {
    session: Client,
    zone: &'static str,
    period: Range<i64>,
    offsets: Vec<(i64, i64)>,
}

/// A zone's offsets from some days before the period to some behind it, as the server knows them.
async fn offsets(session: &Client, zone: &str, period: &Range<i64>) -> Vec<(i64, i64)> {
    // Every quarter of an hour of the days at whose ends the offsets differ; no clock is changed back within a day.
    let sql = "
        WITH days AS (
            SELECT t.minute
            FROM generate_series($2::bigint, $3::bigint, 1440) AS t (minute)
            WHERE to_timestamp(t.minute * 60) AT TIME ZONE $1 - to_timestamp(t.minute * 60) AT TIME ZONE 'UTC'
               <> to_timestamp((t.minute + 1440) * 60) AT TIME ZONE $1 - to_timestamp((t.minute + 1440) * 60) AT TIME ZONE 'UTC'
        ), grid AS (
            SELECT g.minute, (extract(epoch FROM to_timestamp(g.minute * 60) AT TIME ZONE $1
                                               - to_timestamp(g.minute * 60) AT TIME ZONE 'UTC') / 60)::bigint AS ahead
            FROM (SELECT $2::bigint
                  UNION
                  SELECT d.minute + q FROM days AS d CROSS JOIN generate_series(0, 1440, 15) AS q) AS g (minute)
        ), changes AS (
            SELECT g.minute, g.ahead, lag(g.ahead) OVER (ORDER BY g.minute) AS before FROM grid AS g
        )
        SELECT c.minute, c.ahead FROM changes AS c WHERE c.before IS DISTINCT FROM c.ahead ORDER BY c.minute";
    let (from, until) = (period.start - 5 * DAY, period.end + 5 * DAY);
    let rows = session.query(sql, &[&zone, &from, &until]).await;
    let rows = rows.unwrap_or_else(|error| panic!("offsets of {zone}: {}", describe(&error)));
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

impl Trial {
    async fn new(session: Client, zone: &'static str, year: i32) -> Self {
        let sql =
            "SELECT extract(epoch FROM make_timestamptz($1, 1, 7, 0, 0, 0, 'UTC'))::bigint / 60";
        let first: i64 = session
            .query_one(sql, &[&year])
            .await
            .expect("a year")
            .get(0);
        let period = first..first + YEARS * 365 * DAY;
        let offsets = offsets(&session, zone, &period).await;
        Self {
            session,
            zone,
            period,
            offsets,
        }
    }

    /// What to compare: the whole period where the server can list its slots soon enough, else its beginning and the surroundings of each change of
    /// the clock.
    fn windows(&self, expected: &[i64], limit: usize) -> Vec<Range<i64>> {
        if expected.len() <= limit {
            return vec![self.period.clone()];
        }
        let wide = self.around_changes(2 * DAY);
        if within(expected, &wide).len() <= limit {
            wide
        } else {
            self.around_changes(150)
        }
    }

    fn around_changes(&self, margin: i64) -> Vec<Range<i64>> {
        let inside = self.period.start + 3 * margin..self.period.end - margin;
        let changes = self.offsets.iter().map(|(start, _)| *start);
        let centres = changes.filter(|start| inside.contains(start));
        let centres = std::iter::once(self.period.start + margin).chain(centres);
        centres
            .map(|centre| centre - margin..centre + margin)
            .collect()
    }

    /// The slots that the server finds one after the other in each window; None when it refuses the expression, because it never comes.
    async fn found(&self, cron: &str, windows: &[Range<i64>]) -> Option<Vec<i64>> {
        let sql = "
            WITH RECURSIVE slots (fields, until, slot) AS (
                SELECT f, to_timestamp(w.until * 60), pgauto_mv._next_cron_slot(f, $2, to_timestamp(w.since * 60) - interval '1 second')
                FROM pgauto_mv._parse_cron($1) AS f CROSS JOIN unnest($3::bigint[], $4::bigint[]) AS w (since, until)
                UNION ALL
                SELECT s.fields, s.until, pgauto_mv._next_cron_slot(s.fields, $2, s.slot) FROM slots AS s WHERE s.slot < s.until
            )
            SELECT extract(epoch FROM s.slot)::bigint / 60 FROM slots AS s WHERE s.slot < s.until ORDER BY s.slot";
        let since: Vec<i64> = windows.iter().map(|window| window.start).collect();
        let until: Vec<i64> = windows.iter().map(|window| window.end).collect();
        match self
            .session
            .query(sql, &[&cron, &self.zone, &since, &until])
            .await
        {
            Ok(rows) => Some(rows.iter().map(|row| row.get(0)).collect()),
            Err(error) => {
                let said = describe(&error);
                assert!(said.contains("no day is ever"), "{cron}: {said}");
                None
            }
        }
    }

    /// From anywhere, not only from a slot, the next one is found.
    async fn check_places(&self, cron: &str, expected: &[i64], random: &mut StdRng) {
        let (Some(first), Some(last)) = (expected.first(), expected.last()) else {
            return;
        };
        let place = || random.random_range(first * 60..last * 60 + 1);
        let places: Vec<i64> = std::iter::repeat_with(place).take(20).collect();
        let sql = "
            SELECT extract(epoch FROM pgauto_mv._next_cron_slot(f, $2, to_timestamp(p.second)))::bigint
            FROM unnest($3::bigint[]) WITH ORDINALITY AS p (second, n) CROSS JOIN pgauto_mv._parse_cron($1) AS f
            ORDER BY p.n";
        let rows = self.session.query(sql, &[&cron, &self.zone, &places]).await;
        let rows = rows.unwrap_or_else(|error| panic!("{cron}: {}", describe(&error)));
        for (place, row) in places.iter().zip(rows) {
            let next = expected.iter().find(|slot| **slot * 60 > *place);
            if let Some(next) = next {
                let found: i64 = row.get(0);
                assert_eq!(found, next * 60, "{cron} in {} after {place} s", self.zone);
            }
        }
    }

    /// Compares one expression, and says how many slots were.
    async fn compare(&self, cron: &Cron, limit: usize, random: &mut StdRng) -> usize {
        let expected = cron.slots(&self.offsets, self.period.start, self.period.end);
        let windows = self.windows(&expected, limit);
        let wanted = within(&expected, &windows);
        let (text, zone) = (cron.text(), self.zone);
        match self.found(&text, &windows).await {
            Some(found) => assert_eq!(found, wanted, "{text} in {zone}, minutes {windows:?}"),
            None => assert!(expected.is_empty(), "{text} in {zone} was refused"),
        }
        self.check_places(&text, &expected, random).await;
        wanted.len()
    }
}

fn within(slots: &[i64], windows: &[Range<i64>]) -> Vec<i64> {
    let at = |minute: i64| slots.partition_point(|slot| *slot < minute);
    let each = windows
        .iter()
        .map(|window| &slots[at(window.start)..at(window.end)]);
    each.flatten().copied().collect()
}

async fn compare_all(zones: &[Zone], seed: u64) {
    let db = schedules::database().await;
    let long = long_run();
    let seed = if long { rand::rng().random() } else { seed };
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let (expressions, limit) = if long { (25, 20_000) } else { (4, 800) };
    let mut compared = 0;
    for (zone, year) in zones {
        let trial = Trial::new(db.connect().await, zone, *year).await;
        for _ in 0..expressions {
            let cron = Cron::random(&mut random);
            compared += trial.compare(&cron, limit, &mut random).await;
        }
    }
    println!("{compared} slots compared");
    let least = zones.len() * expressions * 50;
    assert!(
        compared > least,
        "{compared} slots were compared, not {least}"
    );
}

#[tokio::test]
async fn where_summer_begins_and_ends_at_night() {
    compare_all(HOURLY, 1).await;
}

#[tokio::test]
async fn where_it_begins_or_ends_at_midnight() {
    compare_all(AT_MIDNIGHT, 2).await;
}

#[tokio::test]
async fn where_the_clock_is_changed_in_odd_ways() {
    compare_all(ODD, 3).await;
}

#[tokio::test]
async fn where_it_is_changed_once_or_never() {
    compare_all(SELDOM, 4).await;
}
