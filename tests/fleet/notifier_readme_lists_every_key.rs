//! The tables of notifier-sql/README.md and the validation know the same keys, required ones included, and the same SQLSTATEs.

use std::collections::BTreeSet;

use fleet_tests::database::Database;

const README: &str = include_str!("../../notifier-sql/README.md");

/// First and third column of the table behind a line of the README.
fn table_behind(line: &str) -> Vec<(String, String)> {
    let (_, rest) = README
        .split_once(&format!("\n{line}\n"))
        .unwrap_or_else(|| panic!("no line {line}"));
    rest.lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            (cells[1].trim_matches('`').to_owned(), cells[3].to_owned())
        })
        .collect()
}

#[tokio::test]
async fn keys() {
    let db = Database::with_companion("notifier").await;
    for (of, line) in [
        ("smtp", "### Profile: smtp"),
        ("m365", "### Profile: m365"),
        ("webhook", "### Profile: webhook"),
        ("mail", "### Message: mail"),
        ("attachment", "### Message: attachment"),
        ("call", "### Message: webhook"),
    ] {
        let sql = "SELECT f.key, f.required FROM pgrelay_notifier._fields($1) AS f";
        let rows = db.rows(sql, &[&of]).await;
        let known: BTreeSet<(String, bool)> =
            rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let documented: BTreeSet<(String, bool)> = table_behind(line)
            .into_iter()
            .map(|(key, default)| (key, default == "required"))
            .collect();
        assert!(!known.is_empty(), "{of}");
        assert_eq!(documented, known, "{of}");
    }
}

#[tokio::test]
async fn sqlstates() {
    let db = Database::with_companion("notifier").await;
    let sql = "SELECT DISTINCT m[1] FROM pg_proc AS p, regexp_matches(p.prosrc, 'PN[0-9]{3}', 'g') AS m \
               WHERE p.pronamespace = 'pgrelay_notifier'::regnamespace";
    let raised: BTreeSet<String> = db
        .rows(sql, &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    let documented: BTreeSet<String> = table_behind("## Errors")
        .into_iter()
        .map(|(code, _)| code)
        .collect();
    assert_eq!(documented, raised);
    assert_eq!(documented.len(), 12);
}

#[tokio::test]
async fn functions_and_relations() {
    let db = Database::with_companion("notifier").await;
    let sql = "SELECT format('`%s(', p.proname) FROM pg_proc AS p WHERE p.pronamespace = 'pgrelay_notifier'::regnamespace AND p.proname !~ '^_' \
               UNION SELECT format('`%s`', c.relname) FROM pg_class AS c WHERE c.relnamespace = 'pgrelay_notifier'::regnamespace AND c.relkind IN ('r', 'v')";
    for row in db.rows(sql, &[]).await {
        let name: String = row.get(0);
        assert!(README.contains(&name), "{name} is not in the README");
    }
}
