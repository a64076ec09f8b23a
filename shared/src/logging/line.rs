//! Texts of others inside our lines.

/// `text` on one line, at most `most` characters of it: whatever some program takes for the end of a line becomes a blank, so that
/// nobody can forge one.
///
/// ```
/// use shared::logging::line::one_line;
/// assert_eq!(one_line("a\nb\u{2028}c", 4), "a b ");
/// ```
#[must_use]
pub fn one_line(text: &str, most: usize) -> String {
    let breaks_lines = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let line = text.chars().map(|c| if breaks_lines(c) { ' ' } else { c });
    line.take(most).collect()
}
