//! One result of the preflight.

use crate::exit::Exit;
use crate::oneshot::Report;
use serde::Serialize;
use std::fmt;

/// Whether the program may start in spite of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It may not.
    Blocking,
    /// It may; part of the work will not be done, or not as it should.
    Warning,
}

impl Severity {
    /// As printed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Warning => "warning",
        }
    }
}

/// One result of the preflight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind, such as `relay:schema`; scripts may rely on it.
    pub code: &'static str,
    /// Whether it keeps the program from starting.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    /// A finding that keeps the program from starting.
    #[must_use]
    pub fn blocking(code: &'static str, message: impl AsRef<str>) -> Self {
        Self::new(code, Severity::Blocking, message.as_ref())
    }

    /// A finding that does not.
    #[must_use]
    pub fn warning(code: &'static str, message: impl AsRef<str>) -> Self {
        Self::new(code, Severity::Warning, message.as_ref())
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl AsRef<str>) -> Self {
        self.hint = Some(one_line(hint.as_ref()));
        self
    }

    /// The finding without its severity, which a log line shows in its own way.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { code, message, .. } = self;
        match &self.hint {
            Some(hint) => format!("{code}: {message} (hint: {hint})"),
            None => format!("{code}: {message}"),
        }
    }

    fn new(code: &'static str, severity: Severity, message: &str) -> Self {
        Self {
            code,
            severity,
            message: one_line(message),
            hint: None,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.severity.as_str(), self.text())
    }
}

/// Whether the program may not start because of one of `findings`.
#[must_use]
pub fn any_blocks(findings: &[Finding]) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity == Severity::Blocking)
}

/// What `check` prints about `findings`, as lines or as one JSON object, and how it ends.
#[must_use]
pub fn report(findings: &[Finding], json: bool) -> Report {
    let ready = !any_blocks(findings);
    let text = if json {
        as_json(ready, findings)
    } else {
        as_lines(ready, findings)
    };
    let mut report = Report::done(text);
    if !ready {
        report.exit = Exit::PreflightBlocked;
    }
    report
}

/// Messages repeat what is in the database, and that may hold anything.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn as_lines(ready: bool, findings: &[Finding]) -> String {
    let mut lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    lines.push(if ready { "ready" } else { "not ready" }.to_owned());
    lines.join("\n") + "\n"
}

#[derive(Serialize)]
struct Checked<'a> {
    ready: bool,
    findings: &'a [Finding],
}

fn as_json(ready: bool, findings: &[Finding]) -> String {
    serde_json::to_string(&Checked { ready, findings })
        .expect("strings and a boolean can always be written as JSON")
}

#[cfg(test)]
mod tests {
    use super::{Finding, as_json, as_lines};

    #[test]
    fn findings_are_one_line_each_and_a_verdict_follows() {
        let findings = [
            Finding::blocking("relay:schema", "it is\nmissing").hint("install it"),
            Finding::warning("relay:role", "it is a superuser"),
        ];
        assert_eq!(
            as_lines(false, &findings),
            "blocking relay:schema: it is missing (hint: install it)\n\
             warning relay:role: it is a superuser\n\
             not ready\n"
        );
        assert_eq!(as_lines(true, &[]), "ready\n");
    }

    #[test]
    fn json_is_one_object() {
        let findings = [Finding::warning("relay:role", "so")];
        assert_eq!(
            as_json(true, &findings),
            r#"{"ready":true,"findings":[{"code":"relay:role","severity":"warning","message":"so","hint":null}]}"#
        );
    }
}
