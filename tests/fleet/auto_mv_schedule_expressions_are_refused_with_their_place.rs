//! What is no cron expression is refused with words that name the field, the part and the reason; what never comes is refused as well.

use crate::auto_mv_schedule_steps as schedules;
use crate::steps::{Refusal, literal, refusal};

const UPWARDS: &str =
    "A range runs upwards; one that passes the end is written as two, such as 22-23,0-2.";
const EMPTY: &str = "There is nothing before, after or between its commas.";
const UNCLEAR: &str = "It is not understood.";

/// Expression, the field and the part that are refused, the reason.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("60 * * * *", "minute", "60", "60 is not between 0 and 59."),
    ("99 * * * *", "minute", "99", "99 is not between 0 and 59."),
    ("100 * * * *", "minute", "100", "'100' is not understood."),
    ("-1 * * * *", "minute", "-1", UNCLEAR),
    ("1- * * * *", "minute", "1-", UNCLEAR),
    ("1-2-3 * * * *", "minute", "1-2-3", UNCLEAR),
    ("+1 * * * *", "minute", "+1", "'+1' is not understood."),
    ("1.5 * * * *", "minute", "1.5", "'1.5' is not understood."),
    ("0x1 * * * *", "minute", "0x1", "'0x1' is not understood."),
    ("x * * * *", "minute", "x", "'x' is not understood."),
    ("MON * * * *", "minute", "MON", "'MON' is not understood."),
    ("? * * * *", "minute", "?", UNCLEAR),
    ("L * * * *", "minute", "L", "'L' is not understood."),
    ("** * * * *", "minute", "**", UNCLEAR),
    ("*-5 * * * *", "minute", "*-5", UNCLEAR),
    ("5-* * * * *", "minute", "5-*", UNCLEAR),
    ("*5 * * * *", "minute", "*5", UNCLEAR),
    (", * * * *", "minute", "", EMPTY),
    ("1, * * * *", "minute", "", EMPTY),
    (",1 * * * *", "minute", "", EMPTY),
    ("1,,2 * * * *", "minute", "", EMPTY),
    (
        "*/0 * * * *",
        "minute",
        "*/0",
        "The step 0 is not between 1 and 60.",
    ),
    (
        "*/61 * * * *",
        "minute",
        "*/61",
        "The step 61 is not between 1 and 60.",
    ),
    (
        "*/90 * * * *",
        "minute",
        "*/90",
        "The step 90 is not between 1 and 60.",
    ),
    ("*/ * * * *", "minute", "*/", UNCLEAR),
    ("/5 * * * *", "minute", "/5", UNCLEAR),
    (
        "*/x * * * *",
        "minute",
        "*/x",
        "The step x is not between 1 and 60.",
    ),
    ("*/-5 * * * *", "minute", "*/-5", UNCLEAR),
    ("*/5/5 * * * *", "minute", "*/5/5", UNCLEAR),
    ("30-10 * * * *", "minute", "30-10", UPWARDS),
    (
        "0-60 * * * *",
        "minute",
        "0-60",
        "60 is not between 0 and 59.",
    ),
    (
        "0-99999999999 * * * *",
        "minute",
        "0-99999999999",
        "'99999999999' is not understood.",
    ),
    ("0 24 * * *", "hour", "24", "24 is not between 0 and 23."),
    ("0 22-2 * * *", "hour", "22-2", UPWARDS),
    (
        "0 */25 * * *",
        "hour",
        "*/25",
        "The step 25 is not between 1 and 24.",
    ),
    ("0 9am * * *", "hour", "9am", "'9am' is not understood."),
    ("0 H * * *", "hour", "H", "'H' is not understood."),
    (
        "0 0 0 * *",
        "day of month",
        "0",
        "0 is not between 1 and 31.",
    ),
    (
        "0 0 32 * *",
        "day of month",
        "32",
        "32 is not between 1 and 31.",
    ),
    (
        "0 0 */32 * *",
        "day of month",
        "*/32",
        "The step 32 is not between 1 and 31.",
    ),
    (
        "0 0 L-3 * *",
        "day of month",
        "L-3",
        "'L' is not understood.",
    ),
    (
        "0 0 15W * *",
        "day of month",
        "15W",
        "'15W' is not understood.",
    ),
    (
        "0 0 LW * *",
        "day of month",
        "LW",
        "'LW' is not understood.",
    ),
    ("0 0 ?/2 * *", "day of month", "?/2", UNCLEAR),
    ("0 0 * 0 *", "month", "0", "0 is not between 1 and 12."),
    ("0 0 * 13 *", "month", "13", "13 is not between 1 and 12."),
    (
        "0 0 * JANUARY *",
        "month",
        "JANUARY",
        "'JANUARY' is not understood.",
    ),
    ("0 0 * DEC-FEB *", "month", "DEC-FEB", UPWARDS),
    ("0 0 * MON *", "month", "MON", "'MON' is not understood."),
    ("0 0 * ? *", "month", "?", UNCLEAR),
    ("0 0 * * 8", "day of week", "8", "8 is not between 0 and 7."),
    (
        "0 0 * * 8L",
        "day of week",
        "8L",
        "8 is not between 0 and 7.",
    ),
    ("0 0 * * L", "day of week", "L", "'L' is not understood."),
    ("0 0 * * 5-0", "day of week", "5-0", UPWARDS),
    ("0 0 * * FRI-MON", "day of week", "FRI-MON", UPWARDS),
    (
        "0 0 * * 5#2",
        "day of week",
        "5#2",
        "'5#2' is not understood.",
    ),
    (
        "0 0 * * FRIDAY",
        "day of week",
        "FRIDAY",
        "'FRIDAY' is not understood.",
    ),
    (
        "0 0 * * */8",
        "day of week",
        "*/8",
        "The step 8 is not between 1 and 7.",
    ),
    (
        "0 0 * * JAN",
        "day of week",
        "JAN",
        "'JAN' is not understood.",
    ),
];

/// Expression, message.
const MISSHAPEN: &[(&str, &str)] = &[
    ("", "a cron expression has five fields, not 0"),
    (" \t\n", "a cron expression has five fields, not 0"),
    ("*", "a cron expression has five fields, not 1"),
    ("0 0 * *", "a cron expression has five fields, not 4"),
    ("0 0 0 * * *", "a cron expression has five fields, not 6"),
    ("0 0 1, 2 * *", "a cron expression has five fields, not 6"),
    (
        "0 0 * * * * 2030",
        "a cron expression has five fields, not 7",
    ),
    ("@reboot", "cron nickname '@reboot' is not known"),
    ("@every 5m", "cron nickname '@every 5m' is not known"),
    ("@", "cron nickname '@' is not known"),
    (
        "0 0 30 2 *",
        "no day is ever '30 2 *' in the last three fields of a cron expression",
    ),
    (
        "0 0 31 2 *",
        "no day is ever '31 2 *' in the last three fields of a cron expression",
    ),
    (
        "0 0 31 4,6,9,11 *",
        "no day is ever '31 4,6,9,11 *' in the last three fields of a cron expression",
    ),
    (
        "0 0 30-31 FEB ?",
        "no day is ever '30-31 FEB ?' in the last three fields of a cron expression",
    ),
    (
        "0 0 31 JUN */2",
        "no day is ever '31 JUN */2' in the last three fields of a cron expression",
    ),
];

async fn refused(session: &tokio_postgres::Client, cron: &str) -> Refusal {
    let sql = format!(
        "SELECT pgauto_mv.create_schedule('refused', {})",
        literal(cron)
    );
    refusal(session, &sql).await
}

#[tokio::test]
async fn what_is_not_understood_is_refused_with_its_place() {
    let db = schedules::database().await;
    let session = db.connect().await;
    for (cron, field, part, reason) in REFUSED {
        let refusal = refused(&session, cron).await;
        let message = format!(
            "the {field} field of a cron expression cannot be {}",
            literal(part)
        );
        assert_eq!(refusal.sqlstate, "PM003", "{cron}");
        assert_eq!(refusal.message, message, "{cron}");
        assert_eq!(refusal.detail.as_deref(), Some(*reason), "{cron}");
        let hint = refusal.hint.unwrap_or_default();
        assert!(hint.starts_with("It takes "), "{cron}: {hint}");
    }
}

#[tokio::test]
async fn what_has_no_five_fields_or_never_comes_is_refused() {
    let db = schedules::database().await;
    let session = db.connect().await;
    for (cron, message) in MISSHAPEN {
        let refusal = refused(&session, cron).await;
        assert_eq!(refusal.sqlstate, "PM003", "{cron}");
        assert_eq!(refusal.message, *message, "{cron}");
        let named = refusal.detail.unwrap_or_default();
        assert!(named.starts_with("cron = "), "{cron}: {named}");
        assert!(refusal.hint.is_some(), "{cron}");
    }
}
