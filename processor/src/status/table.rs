//! A table for a terminal.

use serde_json::Value;
use std::fmt;

/// Rows of JSON objects, printed in columns.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<(&'static str, &'static str)>,
    rows: Vec<Vec<String>>,
    numeric: Vec<bool>,
}

impl Table {
    /// Each column is a heading and the key of the object it shows.
    pub(super) fn new(columns: &[(&'static str, &'static str)]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
            numeric: vec![false; columns.len()],
        }
    }

    /// Adds a row for each object.
    pub(super) fn rows(mut self, objects: &[Value]) -> Self {
        for object in objects {
            let values = self.columns.iter().map(|(_, key)| &object[*key]);
            for (numeric, value) in self.numeric.iter_mut().zip(values.clone()) {
                *numeric |= value.is_number();
            }
            self.rows.push(values.map(shown).collect());
        }
        self
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return writeln!(f, "  none");
        }
        let headings: Vec<String> = self
            .columns
            .iter()
            .map(|(heading, _)| (*heading).to_owned())
            .collect();
        let lines = || std::iter::once(&headings).chain(&self.rows);
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| lines().map(|line| width(&line[column])).max().unwrap_or(0))
            .collect();
        for line in lines() {
            let cells: Vec<String> = line
                .iter()
                .zip(&widths)
                .zip(&self.numeric)
                .map(|((cell, width), numeric)| {
                    if *numeric {
                        format!("{cell:>width$}")
                    } else {
                        format!("{cell:<width$}")
                    }
                })
                .collect();
            writeln!(f, "  {}", cells.join("  ").trim_end())?;
        }
        Ok(())
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// One cell: short, on one line, and harmless to a terminal.
fn shown(value: &Value) -> String {
    const LIMIT: usize = 80;
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(fraction) => format!("{fraction:.1}"),
            None => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    let harmless = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().take(LIMIT).map(harmless).collect();
    if text.chars().nth(LIMIT).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::Table;
    use serde_json::json;

    #[test]
    fn columns_are_aligned_and_cells_are_tame() {
        let table = Table::new(&[("name", "name"), ("n", "n"), ("error", "error")]).rows(&[
            json!({"name": "a", "n": 5, "error": null}),
            json!({"name": "größer", "n": 1234, "error": "two\nlines\u{1b}[2J"}),
            json!({"name": "f", "n": 0.25, "error": true}),
        ]);
        assert_eq!(
            table.to_string(),
            "  name       n  error\n\
             \x20 a          5  -\n\
             \x20 größer  1234  two lines [2J\n\
             \x20 f        0.2  yes\n"
        );
    }

    #[test]
    fn a_table_without_rows_says_so() {
        assert_eq!(Table::new(&[("a", "a")]).to_string(), "  none\n");
    }

    #[test]
    fn a_long_text_is_cut() {
        let table = Table::new(&[("a", "a")]).rows(&[json!({"a": "ä".repeat(1_000)})]);
        assert!(table.to_string().chars().count() < 100);
    }
}
