//! Tests that cannot run here say so, and a run that depends on them fails.

use std::io::Write as _;

/// Reports that the current test is not run, and why.
///
/// The runner hides what passing tests print, so the line also goes to the file named by `PGRELAY_SKIP_LOG`.
///
/// # Panics
/// When `PGRELAY_REQUIRE` (a comma-separated list) names `group`.
pub fn report(group: &str, test: &str, why: &str) {
    let required = std::env::var("PGRELAY_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name.trim() == group),
        "{test} is required ({group}) and cannot run: {why}"
    );
    let line = format!("SKIPPED: {test} ({group}): {why}");
    println!("{line}");
    let Some(path) = std::env::var_os("PGRELAY_SKIP_LOG") else {
        return;
    };
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    if let Ok(mut file) = file {
        // The log is a convenience: without it the line is still in the test's own output.
        let _ = writeln!(file, "{line}");
    }
}

/// Leaves the test with `SKIPPED: why`, or panics where `PGRELAY_REQUIRE` names the group.
///
/// ```no_run
/// # fn a_test() {
/// let Some(program) = Some("/usr/sbin/postfix") else {
///     fleet_tests::skip!("mail", "postfix is not installed");
/// };
/// # let _ = program;
/// # }
/// ```
#[macro_export]
macro_rules! skip {
    ($group:expr, $($why:tt)+) => {{
        $crate::skip::report($group, module_path!(), &format!($($why)+));
        return;
    }};
}
