//! A fixed time that the clock shows twice has its slot the first time, whenever one asks.

use crate::auto_mv_schedule_steps::{Case, check};

const REPEATED: &[Case] = &[
    (
        "30 1 * * *",
        "America/New_York",
        "2026-10-31T12:00Z",
        &[
            "Sun 2026-11-01 01:30:00 -04:00, the first time: the clock will be set back",
            "Mon 2026-11-02 01:30:00 -05:00",
        ],
    ),
    (
        "30 1 * * *",
        "America/New_York",
        "2026-11-01T05:30Z",
        &["Mon 2026-11-02 01:30:00 -05:00"],
    ),
    (
        "0,30 1,2 * * *",
        "America/New_York",
        "2026-10-31T12:00Z",
        &[
            "Sun 2026-11-01 01:00:00 -04:00, the first time: the clock will be set back",
            "Sun 2026-11-01 01:30:00 -04:00, the first time: the clock will be set back",
            "Sun 2026-11-01 02:00:00 -05:00",
            "Sun 2026-11-01 02:30:00 -05:00",
            "Mon 2026-11-02 01:00:00 -05:00",
        ],
    ),
    // Asked between the first time and the second.
    (
        "30 1 * * *",
        "America/New_York",
        "2026-11-01T06:15Z",
        &["Mon 2026-11-02 01:30:00 -05:00"],
    ),
    (
        "30 1 * * *",
        "Europe/London",
        "2026-10-24T12:00Z",
        &[
            "Sun 2026-10-25 01:30:00 +01:00, the first time: the clock will be set back",
            "Mon 2026-10-26 01:30:00 +00:00",
        ],
    ),
    (
        "30 1 * * *",
        "Europe/Dublin",
        "2026-10-24T12:00Z",
        &[
            "Sun 2026-10-25 01:30:00 +01:00, the first time: the clock will be set back",
            "Mon 2026-10-26 01:30:00 +00:00",
        ],
    ),
    (
        "45 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-03T22:00Z",
        &[
            "Sun 2026-04-05 01:45:00 +11:00, the first time: the clock will be set back",
            "Mon 2026-04-06 01:45:00 +10:30",
        ],
    ),
    (
        "30 23 * * *",
        "America/Sao_Paulo",
        "2018-02-17T12:00Z",
        &[
            "Sat 2018-02-17 23:30:00 -02:00, the first time: the clock will be set back",
            "Sun 2018-02-18 23:30:00 -03:00",
        ],
    ),
    (
        "0 0 * * *",
        "America/Santiago",
        "2026-04-04T12:00Z",
        &[
            "Sun 2026-04-05 00:00:00 -04:00",
            "Mon 2026-04-06 00:00:00 -04:00",
        ],
    ),
    (
        "30 11 * * *",
        "Asia/Pyongyang",
        "2015-08-13T06:00Z",
        &[
            "Fri 2015-08-14 11:30:00 +09:00",
            "Sat 2015-08-15 11:30:00 +08:30",
        ],
    ),
    // A whole day.
    (
        "0 12 * * *",
        "Pacific/Kwajalein",
        "1969-09-29T06:00Z",
        &[
            "Tue 1969-09-30 12:00:00 +11:00, the first time: the clock will be set back",
            "Wed 1969-10-01 12:00:00 -12:00",
            "Thu 1969-10-02 12:00:00 -12:00",
        ],
    ),
];

#[tokio::test]
async fn repeated_times_have_their_slot_the_first_time() {
    check(REPEATED).await;
}
