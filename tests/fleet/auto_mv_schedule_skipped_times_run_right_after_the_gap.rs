//! A fixed time that the clock skips has its slot right after the gap, once (crontab(5), Daylight Saving Time).

use crate::auto_mv_schedule_steps::{Case, check};

const SKIPPED: &[Case] = &[
    (
        "30 2 * * *",
        "America/New_York",
        "2026-03-07T12:00Z",
        &[
            "Sun 2026-03-08 03:00:00 -04:00, in place of a time from 2026-03-08 02:00 on, which the clock skips",
            "Mon 2026-03-09 02:30:00 -04:00",
        ],
    ),
    // Several have one together,
    (
        "0,15,30 2 * * *",
        "America/New_York",
        "2026-03-07T12:00Z",
        &[
            "Sun 2026-03-08 03:00:00 -04:00, in place of a time from 2026-03-08 02:00 on, which the clock skips",
            "Mon 2026-03-09 02:00:00 -04:00",
        ],
    ),
    // next to those behind the gap,
    (
        "30 2,3 * * *",
        "America/New_York",
        "2026-03-07T12:00Z",
        &[
            "Sun 2026-03-08 03:00:00 -04:00, in place of a time from 2026-03-08 02:00 on, which the clock skips",
            "Sun 2026-03-08 03:30:00 -04:00",
            "Mon 2026-03-09 02:30:00 -04:00",
        ],
    ),
    // until the last moment,
    (
        "30 2 * * *",
        "America/New_York",
        "2026-03-08T06:59:59Z",
        &[
            "Sun 2026-03-08 03:00:00 -04:00, in place of a time from 2026-03-08 02:00 on, which the clock skips",
        ],
    ),
    // and only once.
    (
        "30 2 * * *",
        "America/New_York",
        "2026-03-08T07:00Z",
        &["Mon 2026-03-09 02:30:00 -04:00"],
    ),
    // The first time behind the gap is itself.
    (
        "0 3 * * *",
        "America/New_York",
        "2026-03-07T12:00Z",
        &[
            "Sun 2026-03-08 03:00:00 -04:00",
            "Mon 2026-03-09 03:00:00 -04:00",
        ],
    ),
    (
        "30 1 * * *",
        "Europe/London",
        "2026-03-28T12:00Z",
        &[
            "Sun 2026-03-29 02:00:00 +01:00, in place of a time from 2026-03-29 01:00 on, which the clock skips",
            "Mon 2026-03-30 01:30:00 +01:00",
        ],
    ),
    (
        "30 1 * * *",
        "Europe/Dublin",
        "2026-03-28T12:00Z",
        &[
            "Sun 2026-03-29 02:00:00 +01:00, in place of a time from 2026-03-29 01:00 on, which the clock skips",
            "Mon 2026-03-30 01:30:00 +01:00",
        ],
    ),
    // Half an hour.
    (
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-03T00:00Z",
        &[
            "Sun 2026-10-04 02:30:00 +11:00, in place of a time from 2026-10-04 02:00 on, which the clock skips",
            "Mon 2026-10-05 02:15:00 +11:00",
        ],
    ),
    // At midnight.
    (
        "0 0 * * *",
        "America/Santiago",
        "2026-09-05T12:00Z",
        &[
            "Sun 2026-09-06 01:00:00 -03:00, in place of a time from 2026-09-06 00:00 on, which the clock skips",
            "Mon 2026-09-07 00:00:00 -03:00",
        ],
    ),
    (
        "0 0 * * *",
        "Africa/Cairo",
        "2026-04-23T12:00Z",
        &[
            "Fri 2026-04-24 01:00:00 +03:00, in place of a time from 2026-04-24 00:00 on, which the clock skips",
            "Sat 2026-04-25 00:00:00 +03:00",
        ],
    ),
    (
        "0 0 * * *",
        "America/Sao_Paulo",
        "2018-11-03T12:00Z",
        &[
            "Sun 2018-11-04 01:00:00 -02:00, in place of a time from 2018-11-04 00:00 on, which the clock skips",
            "Mon 2018-11-05 00:00:00 -02:00",
        ],
    ),
    (
        "0 0 * * *",
        "Asia/Beirut",
        "2026-03-28T12:00Z",
        &[
            "Sun 2026-03-29 01:00:00 +03:00, in place of a time from 2026-03-29 00:00 on, which the clock skips",
            "Mon 2026-03-30 00:00:00 +03:00",
        ],
    ),
    // A new standard time.
    (
        "45 23 * * *",
        "Asia/Pyongyang",
        "2018-05-03T06:00Z",
        &[
            "Thu 2018-05-03 23:45:00 +08:30",
            "Sat 2018-05-05 00:00:00 +09:00, in place of a time from 2018-05-04 23:30 on, which the clock skips",
            "Sat 2018-05-05 23:45:00 +09:00",
        ],
    ),
    // A whole day, to the other side of the date line.
    (
        "0 12 * * *",
        "Pacific/Apia",
        "2011-12-29T06:00Z",
        &[
            "Thu 2011-12-29 12:00:00 -10:00",
            "Sat 2011-12-31 00:00:00 +14:00, in place of a time from 2011-12-30 00:00 on, which the clock skips",
            "Sat 2011-12-31 12:00:00 +14:00",
        ],
    ),
    (
        "0 12 * * 5",
        "Pacific/Apia",
        "2011-12-24T06:00Z",
        &[
            "Sat 2011-12-31 00:00:00 +14:00, in place of a time from 2011-12-30 00:00 on, which the clock skips",
            "Fri 2012-01-06 12:00:00 +14:00",
        ],
    ),
];

/// A clock that is never changed.
const UNCHANGED: &[Case] = &[
    (
        "30 2 * * *",
        "Asia/Kolkata",
        "2026-03-07T12:00Z",
        &[
            "Sun 2026-03-08 02:30:00 +05:30",
            "Mon 2026-03-09 02:30:00 +05:30",
        ],
    ),
    (
        "30 2 * * *",
        "UTC",
        "2026-03-07T12:00Z",
        &[
            "Sun 2026-03-08 02:30:00 +00:00",
            "Mon 2026-03-09 02:30:00 +00:00",
        ],
    ),
    (
        "30 2 * * *",
        "utc",
        "2026-03-08T02:30Z",
        &["Mon 2026-03-09 02:30:00 +00:00"],
    ),
];

#[tokio::test]
async fn skipped_times_have_their_slot_right_after_the_gap() {
    check(SKIPPED).await;
}

#[tokio::test]
async fn a_steady_clock_has_steady_slots() {
    check(UNCHANGED).await;
}
