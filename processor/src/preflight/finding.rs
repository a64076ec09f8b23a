//! One result of the preflight.

use serde::Serialize;
use std::fmt;

/// Whether a Processor may start in spite of a finding.
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
    /// Whether it keeps a Processor from starting.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    /// A finding that keeps a Processor from starting.
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

/// Whether a Processor may not start because of one of `findings`.
#[must_use]
pub fn any_blocks(findings: &[Finding]) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity == Severity::Blocking)
}

/// Messages repeat what is in the database, and that may hold anything.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
