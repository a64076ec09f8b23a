//! PostgreSQL's own load generator.

use std::process::Stdio;

use fleet_tests::database::Database;
use fleet_tests::postgres::Bindir;

/// How long it runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    Seconds(u32),
    TransactionsPerClient(i64),
}

/// Runs `script` and gives the transactions per second.
pub(crate) async fn run(db: &Database, script: &str, clients: u32, length: Length) -> f64 {
    let file = tempfile::NamedTempFile::new().expect("a file for the script");
    std::fs::write(file.path(), script).expect("writing the script");
    let bindir = Bindir::find().expect("PostgreSQL's binaries");
    let endpoint = db.endpoint();
    let mut command = tokio::process::Command::new(bindir.program("pgbench"));
    command.args(["--no-vacuum", "--protocol=prepared"]);
    command.args([
        "--host",
        endpoint.host(),
        "--port",
        &endpoint.port().to_string(),
    ]);
    command.args(["--username", endpoint.user()]);
    command.args(["--client", &clients.to_string()]);
    command.args(["--jobs", &clients.min(2).to_string()]);
    match length {
        Length::Seconds(seconds) => command.args(["--time", &seconds.to_string()]),
        Length::TransactionsPerClient(count) => {
            command.args(["--transactions", &count.to_string()])
        }
    };
    command.arg("--file").arg(file.path()).arg(db.name());
    let output = command
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("starting pgbench");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "pgbench failed:\n{said}{complained}"
    );
    rate(&said).unwrap_or_else(|| panic!("pgbench gave no rate:\n{said}{complained}"))
}

fn rate(said: &str) -> Option<f64> {
    let line = said.lines().find_map(|line| line.strip_prefix("tps = "))?;
    line.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_rate_is_found() {
        let said = "latency average = 1.2 ms\ntps = 1234.5 (without initial connection time)\n";
        assert_eq!(super::rate(said), Some(1234.5));
        assert_eq!(super::rate("nothing"), None);
    }
}
