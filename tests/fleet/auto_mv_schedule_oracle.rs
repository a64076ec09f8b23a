//! An independent account of when a cron expression has its slots: every minute of the period is looked at, in order, and matched against the
//! expression as it was composed. Nothing is shared with the search in SQL, neither the reading of the expression nor the treatment of the clock.

use rand::Rng;
use rand::rngs::StdRng;

/// One part of a field, as it is written between commas.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// `*`, `*/n`
    Every(i64),
    /// `a/n`
    From(i64, i64),
    /// `a-b`, `a-b/n`
    Range(i64, i64, i64),
    /// `a`
    One(i64),
    /// `L` in the days of a month, `aL` in those of a week
    Last(i64),
}

/// A minute of the calendar, as a cron expression sees it.
#[derive(Debug, Clone, Copy)]
struct Shown {
    values: [i64; 5],
    days_left: i64,
}

/// A field, with the lowest and the highest number it takes.
#[derive(Debug, Clone)]
struct Field {
    place: usize,
    parts: Vec<Part>,
}

const LIMITS: [(i64, i64); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
const HOUR: usize = 1;
const DAY_OF_MONTH: usize = 2;
const DAY_OF_WEEK: usize = 4;

/// A cron expression.
#[derive(Debug, Clone)]
pub(crate) struct Cron {
    fields: Vec<Field>,
}

/// When a zone's clock has which offset from UTC, in minutes: (first minute, offset), ascending.
pub(crate) type Offsets = [(i64, i64)];

impl Part {
    fn matches(self, place: usize, shown: &Shown) -> bool {
        let value = shown.values[place];
        let (low, high) = LIMITS[place];
        // Sunday has two numbers.
        let also = if place == DAY_OF_WEEK && value == 0 {
            7
        } else {
            value
        };
        [value, also].into_iter().any(|value| match self {
            Self::Every(step) => value <= high && (value - low) % step == 0,
            Self::From(first, step) => {
                value >= first && value <= high.max(first) && (value - first) % step == 0
            }
            Self::Range(first, last, step) => {
                value >= first && value <= last && (value - first) % step == 0
            }
            Self::One(only) => value == only,
            Self::Last(_) if place == DAY_OF_MONTH => shown.days_left == 0,
            Self::Last(day) => value == day && shown.days_left < 7,
        })
    }

    fn text(self, place: usize) -> String {
        match self {
            Self::Every(1) => "*".to_owned(),
            Self::Every(step) => format!("*/{step}"),
            Self::From(first, step) => format!("{first}/{step}"),
            Self::Range(first, last, 1) => format!("{first}-{last}"),
            Self::Range(first, last, step) => format!("{first}-{last}/{step}"),
            Self::One(only) => only.to_string(),
            Self::Last(_) if place == DAY_OF_MONTH => "L".to_owned(),
            Self::Last(day) => format!("{day}L"),
        }
    }

    fn random(place: usize, fixed: bool, random: &mut StdRng) -> Self {
        let (low, high) = LIMITS[place];
        let high = match place {
            DAY_OF_WEEK => 7,
            // Clocks are mostly changed in the first hours of a day.
            HOUR if random.random_bool(0.5) => 4,
            _ => high,
        };
        let first = random.random_range(low..=high);
        let step = random.random_range(1..=(high - low).min(30));
        match random.random_range(if fixed { 2..8 } else { 0..8 }) {
            0 => Self::Every(step),
            1 => Self::From(first, step),
            2 => Self::Range(first, random.random_range(first..=high), step),
            3 => Self::Range(first, random.random_range(first..=high), 1),
            4 if place == DAY_OF_MONTH || place == DAY_OF_WEEK => Self::Last(first),
            _ => Self::One(first),
        }
    }
}

impl Field {
    fn random(place: usize, fixed: bool, random: &mut StdRng) -> Self {
        // Days and months are mostly open, or hardly anything would ever match.
        let open = [0.2, 0.3, 0.5, 0.7, 0.5][place];
        if !fixed && random.random_bool(open) {
            let parts = vec![Part::Every(1)];
            return Self { place, parts };
        }
        let count = random.random_range(1..=3);
        let parts = (0..count)
            .map(|_| Part::random(place, fixed, random))
            .collect();
        Self { place, parts }
    }

    fn matches(&self, shown: &Shown) -> bool {
        self.parts
            .iter()
            .any(|part| part.matches(self.place, shown))
    }

    fn has_star(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Every(_)))
    }

    fn is_open(&self) -> bool {
        let open = |part: &Part| matches!(part, Part::Every(_) | Part::From(..));
        self.parts.iter().any(open)
    }
}

impl Cron {
    /// Any expression; it may be one that never comes.
    pub(crate) fn random(random: &mut StdRng) -> Self {
        // Only fixed times are moved when a clock is changed, so there are many of them.
        let fixed = random.random_bool(0.6);
        let field = |place| Field::random(place, fixed && place <= HOUR, random);
        Self {
            fields: (0..5).map(field).collect(),
        }
    }

    /// As a user would write it.
    pub(crate) fn text(&self) -> String {
        let field = |field: &Field| {
            let parts: Vec<String> = field.parts.iter().map(|p| p.text(field.place)).collect();
            parts.join(",")
        };
        let fields: Vec<String> = self.fields.iter().map(field).collect();
        fields.join(" ")
    }

    fn is_wildcard(&self) -> bool {
        self.fields[0].is_open() || self.fields[1].is_open()
    }

    fn names_day(&self, day: i64) -> bool {
        let (month, day_of_month, days_left) = calendar(day);
        let shown = Shown {
            // 1 January 1970 was a Thursday.
            values: [0, 0, day_of_month, month, (day + 4) % 7],
            days_left,
        };
        let [by_day, by_weekday] =
            [DAY_OF_MONTH, DAY_OF_WEEK].map(|place| self.fields[place].matches(&shown));
        let both = self.fields[DAY_OF_MONTH].has_star() || self.fields[DAY_OF_WEEK].has_star();
        let by_days = if both {
            by_day && by_weekday
        } else {
            by_day || by_weekday
        };
        by_days && self.fields[3].matches(&shown)
    }

    /// All slots in `from..until` (minutes since 1970, after 1970), of which `from` lies in no hour that the clock shows again.
    pub(crate) fn slots(&self, offsets: &Offsets, from: i64, until: i64) -> Vec<i64> {
        let wildcard = self.is_wildcard();
        let mut matcher = Matcher::new(self);
        let mut slots = Vec::new();
        let mut stretch = offsets.partition_point(|(start, _)| *start <= from) - 1;
        // The latest local time the clock has shown so far.
        let mut latest = from + offsets[stretch].1 - 1;
        let mut minute = from;
        while minute < until {
            if stretch + 1 < offsets.len() && offsets[stretch + 1].0 <= minute {
                stretch += 1;
            }
            let local = minute + offsets[stretch].1;
            let due = if wildcard || local == latest + 1 {
                matcher.names(local)
            } else {
                // What was skipped is due with the first minute behind it; what is shown again is not.
                (latest + 1..=local).any(|shown| matcher.names(shown))
            };
            if due {
                slots.push(minute);
            }
            latest = latest.max(local);
            minute += 1;
        }
        slots
    }
}

/// An expression with what its fields say of each minute and hour, and of the day at hand, so that ten years are looked through in a moment.
struct Matcher<'a> {
    cron: &'a Cron,
    minutes: Vec<bool>,
    hours: Vec<bool>,
    day: (i64, bool),
}

impl<'a> Matcher<'a> {
    fn new(cron: &'a Cron) -> Self {
        let table = |place: usize| -> Vec<bool> {
            let (low, high) = LIMITS[place];
            let shown = |value| Shown {
                values: [value; 5],
                days_left: 0,
            };
            (low..=high)
                .map(|value| cron.fields[place].matches(&shown(value)))
                .collect()
        };
        Self {
            cron,
            minutes: table(0),
            hours: table(1),
            day: (0, cron.names_day(0)),
        }
    }

    /// Whether the expression names this minute of the calendar, counted from 1970.
    fn names(&mut self, local: i64) -> bool {
        if !self.minutes[index(local % 60)] || !self.hours[index(local / 60 % 24)] {
            return false;
        }
        let day = local / 1440;
        if day != self.day.0 {
            self.day = (day, self.cron.names_day(day));
        }
        self.day.1
    }
}

fn index(value: i64) -> usize {
    usize::try_from(value).expect("times after 1970")
}

/// Month, day of the month and days left in it, by counting through the years.
fn calendar(mut day: i64) -> (i64, i64, i64) {
    let mut year = 1970;
    loop {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let february = if leap { 29 } else { 28 };
        for (month, length) in (1..).zip([31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
            if day < length {
                return (month, day + 1, length - 1 - day);
            }
            day -= length;
        }
        year += 1;
    }
}

#[test]
fn the_oracle_counts_days_as_the_calendar_does() {
    assert_eq!(calendar(0), (1, 1, 30));
    // 29 February 2024, 31 December 2099, 28 February 2100, which is no leap year.
    assert_eq!(calendar(19_782), (2, 29, 0));
    assert_eq!(calendar(47_481), (12, 31, 0));
    assert_eq!(calendar(47_540), (2, 28, 0));
}
