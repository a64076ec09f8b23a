//! What is open in the minute or the hour has a slot at every real instant that matches, and at no other.

use crate::auto_mv_schedule_steps::{Case, check};

const WILDCARDS: &[Case] = &[
    (
        "*/30 * * * *",
        "America/New_York",
        "2026-03-08T06:10Z",
        &[
            "Sun 2026-03-08 01:30:00 -05:00",
            "Sun 2026-03-08 03:00:00 -04:00",
            "Sun 2026-03-08 03:30:00 -04:00",
        ],
    ),
    (
        "*/30 * * * *",
        "America/New_York",
        "2026-11-01T04:45Z",
        &[
            "Sun 2026-11-01 01:00:00 -04:00, the first time: the clock will be set back",
            "Sun 2026-11-01 01:30:00 -04:00, the first time: the clock will be set back",
            "Sun 2026-11-01 01:00:00 -05:00, the second time: the clock was set back",
            "Sun 2026-11-01 01:30:00 -05:00, the second time: the clock was set back",
            "Sun 2026-11-01 02:00:00 -05:00",
            "Sun 2026-11-01 02:30:00 -05:00",
        ],
    ),
    (
        "0 */2 * * *",
        "America/New_York",
        "2026-03-08T02:00Z",
        &[
            "Sat 2026-03-07 22:00:00 -05:00",
            "Sun 2026-03-08 00:00:00 -05:00",
            "Sun 2026-03-08 04:00:00 -04:00",
            "Sun 2026-03-08 06:00:00 -04:00",
        ],
    ),
    (
        "0 * * * *",
        "America/New_York",
        "2026-11-01T04:10Z",
        &[
            "Sun 2026-11-01 01:00:00 -04:00, the first time: the clock will be set back",
            "Sun 2026-11-01 01:00:00 -05:00, the second time: the clock was set back",
            "Sun 2026-11-01 02:00:00 -05:00",
        ],
    ),
    (
        "*/30 2 * * *",
        "America/New_York",
        "2026-03-07T12:00Z",
        &[
            "Mon 2026-03-09 02:00:00 -04:00",
            "Mon 2026-03-09 02:30:00 -04:00",
        ],
    ),
    (
        "*/30 1 * * *",
        "America/New_York",
        "2026-10-31T12:00Z",
        &[
            "Sun 2026-11-01 01:00:00 -04:00, the first time: the clock will be set back",
            "Sun 2026-11-01 01:30:00 -04:00, the first time: the clock will be set back",
            "Sun 2026-11-01 01:00:00 -05:00, the second time: the clock was set back",
            "Sun 2026-11-01 01:30:00 -05:00, the second time: the clock was set back",
            "Mon 2026-11-02 01:00:00 -05:00",
        ],
    ),
    (
        "0 1/12 * * *",
        "Europe/London",
        "2026-10-24T23:30Z",
        &[
            "Sun 2026-10-25 01:00:00 +01:00, the first time: the clock will be set back",
            "Sun 2026-10-25 01:00:00 +00:00, the second time: the clock was set back",
            "Sun 2026-10-25 13:00:00 +00:00",
        ],
    ),
    (
        "*/15 * * * *",
        "Australia/Lord_Howe",
        "2026-04-04T14:20Z",
        &[
            "Sun 2026-04-05 01:30:00 +11:00, the first time: the clock will be set back",
            "Sun 2026-04-05 01:45:00 +11:00, the first time: the clock will be set back",
            "Sun 2026-04-05 01:30:00 +10:30, the second time: the clock was set back",
            "Sun 2026-04-05 01:45:00 +10:30, the second time: the clock was set back",
            "Sun 2026-04-05 02:00:00 +10:30",
        ],
    ),
    (
        "0 */12 * * *",
        "Pacific/Apia",
        "2011-12-29T09:00Z",
        &[
            "Thu 2011-12-29 00:00:00 -10:00",
            "Thu 2011-12-29 12:00:00 -10:00",
            "Sat 2011-12-31 00:00:00 +14:00",
            "Sat 2011-12-31 12:00:00 +14:00",
        ],
    ),
];

#[tokio::test]
async fn wildcards_have_every_real_instant() {
    check(WILDCARDS).await;
}
