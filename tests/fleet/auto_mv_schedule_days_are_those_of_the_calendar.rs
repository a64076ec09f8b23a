//! Days of the month and of the week: either is enough when both are named, both count when one is open; last days; and days that are rare.

use crate::auto_mv_schedule_steps::{Case, check};

/// The rule of the star (crontab(5)).
const EITHER_OR_BOTH: &[Case] = &[
    (
        "0 9 1 * 1",
        "UTC",
        "2026-08-27T00:00Z",
        &[
            "Mon 2026-08-31 09:00:00 +00:00",
            "Tue 2026-09-01 09:00:00 +00:00",
            "Mon 2026-09-07 09:00:00 +00:00",
            "Mon 2026-09-14 09:00:00 +00:00",
        ],
    ),
    (
        "0 9 13 * 5",
        "Europe/Berlin",
        "2026-11-12T00:00Z",
        &[
            "Fri 2026-11-13 09:00:00 +01:00",
            "Fri 2026-11-20 09:00:00 +01:00",
            "Fri 2026-11-27 09:00:00 +01:00",
            "Fri 2026-12-04 09:00:00 +01:00",
        ],
    ),
    (
        "0 9 13 * *",
        "Europe/Berlin",
        "2026-11-12T00:00Z",
        &[
            "Fri 2026-11-13 09:00:00 +01:00",
            "Sun 2026-12-13 09:00:00 +01:00",
        ],
    ),
    (
        "0 9 * * 5",
        "Europe/Berlin",
        "2026-11-12T00:00Z",
        &[
            "Fri 2026-11-13 09:00:00 +01:00",
            "Fri 2026-11-20 09:00:00 +01:00",
        ],
    ),
    // The first Sunday of the month.
    (
        "0 9 1-7 * */7",
        "Europe/Berlin",
        "2026-11-12T00:00Z",
        &[
            "Sun 2026-12-06 09:00:00 +01:00",
            "Sun 2027-01-03 09:00:00 +01:00",
            "Sun 2027-02-07 09:00:00 +01:00",
        ],
    ),
    (
        "0 9 */2 * 1",
        "Europe/Berlin",
        "2026-11-12T00:00Z",
        &[
            "Mon 2026-11-23 09:00:00 +01:00",
            "Mon 2026-12-07 09:00:00 +01:00",
            "Mon 2026-12-21 09:00:00 +01:00",
        ],
    ),
    // There is no such day of February, but there are Mondays.
    (
        "0 9 31 2 1",
        "Europe/Berlin",
        "2026-11-12T00:00Z",
        &[
            "Mon 2027-02-01 09:00:00 +01:00",
            "Mon 2027-02-08 09:00:00 +01:00",
        ],
    ),
];

/// The last day of a month, and the last of its Fridays.
const LAST_DAYS: &[Case] = &[
    (
        "0 0 L * *",
        "UTC",
        "2028-01-30T00:00Z",
        &[
            "Mon 2028-01-31 00:00:00 +00:00",
            "Tue 2028-02-29 00:00:00 +00:00",
            "Fri 2028-03-31 00:00:00 +00:00",
            "Sun 2028-04-30 00:00:00 +00:00",
        ],
    ),
    (
        "0 0 15,L 2 *",
        "UTC",
        "2026-01-30T00:00Z",
        &[
            "Sun 2026-02-15 00:00:00 +00:00",
            "Sat 2026-02-28 00:00:00 +00:00",
            "Mon 2027-02-15 00:00:00 +00:00",
        ],
    ),
    (
        "0 9 * * 5L",
        "Europe/Berlin",
        "2026-11-12T00:00Z",
        &[
            "Fri 2026-11-27 09:00:00 +01:00",
            "Fri 2026-12-25 09:00:00 +01:00",
            "Fri 2027-01-29 09:00:00 +01:00",
        ],
    ),
    (
        "0 9 L * 5L",
        "Europe/Berlin",
        "2027-01-20T00:00Z",
        &[
            "Fri 2027-01-29 09:00:00 +01:00",
            "Sun 2027-01-31 09:00:00 +01:00",
            "Fri 2027-02-26 09:00:00 +01:00",
            "Sun 2027-02-28 09:00:00 +01:00",
        ],
    ),
    (
        "0 0 31 * *",
        "UTC",
        "2027-01-31T00:00Z",
        &[
            "Wed 2027-03-31 00:00:00 +00:00",
            "Mon 2027-05-31 00:00:00 +00:00",
            "Sat 2027-07-31 00:00:00 +00:00",
        ],
    ),
];

/// Days that take their time.
const RARE_DAYS: &[Case] = &[
    (
        "0 0 29 2 *",
        "UTC",
        "2026-11-12T00:00Z",
        &[
            "Tue 2028-02-29 00:00:00 +00:00",
            "Sun 2032-02-29 00:00:00 +00:00",
        ],
    ),
    // 2100 is not a leap year.
    (
        "0 0 29 2 *",
        "UTC",
        "2096-03-01T00:00Z",
        &[
            "Fri 2104-02-29 00:00:00 +00:00",
            "Wed 2108-02-29 00:00:00 +00:00",
        ],
    ),
    // The rarest there is: 40 years.
    (
        "0 0 29 2 */7",
        "UTC",
        "2072-03-01T00:00Z",
        &[
            "Sun 2088-02-29 00:00:00 +00:00",
            "Sun 2128-02-29 00:00:00 +00:00",
        ],
    ),
    (
        "59 23 31 12 *",
        "America/New_York",
        "2026-12-31T00:00Z",
        &[
            "Thu 2026-12-31 23:59:00 -05:00",
            "Fri 2027-12-31 23:59:00 -05:00",
        ],
    ),
];

#[tokio::test]
async fn a_star_in_one_field_leaves_the_day_to_the_other() {
    check(EITHER_OR_BOTH).await;
}

#[tokio::test]
async fn last_days_depend_on_the_month() {
    check(LAST_DAYS).await;
}

#[tokio::test]
async fn rare_days_are_found() {
    check(RARE_DAYS).await;
}
