//! `install --as-extension` makes files that CREATE EXTENSION takes, and pg_dump keeps the user's data.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fleet_tests::database::Database;
use fleet_tests::postgres::{Bindir, PrivateOptions, Server};
use fleet_tests::processor::command_at;
use fleet_tests::skip;

/// Files put where the server looks for extensions; taken away with the value.
struct Files(Vec<PathBuf>);

impl Files {
    /// Fails when a file is there already, or none may be written.
    async fn put_into(directory: &Path) -> Result<Self, String> {
        let staging = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = staging.path().display().to_string();
        let output = command_at(
            "postgres://nobody@127.0.0.1:1/none",
            &["install", "--as-extension", &path],
        )
        .await;
        assert_eq!(output.code, 0, "{output}");
        let mut files = Self(Vec::new());
        for line in output.stdout.lines() {
            let source = Path::new(line);
            let target = directory.join(source.file_name().expect("a file name"));
            if target.exists() {
                return Err(format!("{} is there already", target.display()));
            }
            std::fs::copy(source, &target)
                .map_err(|error| format!("{}: {error}", target.display()))?;
            files.0.push(target);
        }
        Ok(files)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in &self.0 {
            // Whoever removed it before us wanted the same.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[tokio::test]
async fn create_extension_dump_and_restore() {
    let Some(bindir) = Bindir::find() else {
        skip!("extension", "PostgreSQL's binaries are not installed");
    };
    let files = match Files::put_into(&extension_directory(&bindir)).await {
        Ok(files) => files,
        Err(why) => skip!("extension", "the server's extension directory: {why}"),
    };

    let server = Server::private(PrivateOptions {
        bindir: Some(bindir.clone()),
        ..PrivateOptions::default()
    })
    .await;
    let (original, restored) = (
        Database::empty_on(&server).await,
        Database::empty_on(&server).await,
    );
    original
        .execute(
            "CREATE EXTENSION pgrelay;
             SELECT pgrelay.register('kept', 'SELECT 1'), pgrelay.set_retention('1 day'), pgrelay.set_node('n2', 2, 3);
             SELECT pgrelay.notify('kept', 'a'), pgrelay.notify('kept', 'b');
             SELECT pgrelay.register_companion('plain', 'plain', '1.0'), pgrelay.register_companion('plpgsql', 'x', '1.0');
             INSERT INTO pgrelay.log (queue_id, started_at, elapsed_ms, attempt, status, channel) VALUES (2, now(), 1, 1, 'ok', 'kept')",
        )
        .await;
    copy(&bindir, &original, &restored);

    holds_what_was_dumped(&original, &restored).await;
    for (arguments, code, expected) in [
        (["install"], 0, "pgrelay 1.1 is already installed in"),
        (["check"], 0, "ready"),
        (["upgrade"], 0, "is already at 1.1"),
    ] {
        let output = command_at(&restored.url(), &arguments).await;
        assert_eq!(output.code, code, "{arguments:?} {output}");
        assert!(output.stdout.contains(expected), "{arguments:?} {output}");
    }
    restored.execute("DROP EXTENSION pgrelay").await;
    let left = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'pgrelay')";
    assert!(!restored.query_one::<bool>(left, &[]).await);
    drop(files);
}

async fn holds_what_was_dumped(original: &Database, restored: &Database) {
    let one = |sql: &'static str| restored.query_one::<String>(sql, &[]);
    assert_eq!(
        one("SELECT extversion FROM pg_extension WHERE extname = 'pgrelay'").await,
        "1.1"
    );
    assert_eq!(
        one("SELECT string_agg(payload, ',' ORDER BY id) FROM pgrelay.queue").await,
        "a,b"
    );
    assert_eq!(
        one("SELECT string_agg(channel, ',') FROM pgrelay.channels").await,
        "kept"
    );
    assert_eq!(
        one("SELECT keep_finished::text FROM pgrelay.fleet").await,
        "1 day"
    );
    assert_eq!(one("SELECT pgrelay.node_name()").await, "n2");
    assert_eq!(one("SELECT count(*)::text FROM pgrelay.log").await, "1");
    // The row of a companion that is an extension comes from its own script.
    assert_eq!(
        one("SELECT string_agg(name, ',') FROM pgrelay.companions").await,
        "plain"
    );
    // Ids go on where they were, and stay those of node 2 of 3.
    let last: i64 = original
        .query_one("SELECT max(id) FROM pgrelay.queue", &[])
        .await;
    let next: i64 = restored
        .query_one("SELECT pgrelay.notify('kept', 'c')", &[])
        .await;
    assert_eq!(next, last + 3);
}

/// Where the server of these binaries looks for extensions.
fn extension_directory(bindir: &Bindir) -> PathBuf {
    let ask = |program: PathBuf| Command::new(program).arg("--sharedir").output();
    // Debian has pg_config in the path only.
    let answer = ask(bindir.program("pg_config")).or_else(|_| ask(PathBuf::from("pg_config")));
    let sharedir = answer.map_or_else(
        |_| String::new(),
        |answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned(),
    );
    Path::new(&sharedir).join("extension")
}

/// pg_dump into psql, which stops at the first error.
fn copy(bindir: &Bindir, from: &Database, to: &Database) {
    let mut dump = Command::new(bindir.program("pg_dump"))
        .arg(from.url())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starting pg_dump");
    let stdout = dump.stdout.take().expect("pg_dump's output");
    let restore = Command::new(bindir.program("psql"))
        .args([
            "--no-psqlrc",
            "--quiet",
            "--set",
            "ON_ERROR_STOP=1",
            &to.url(),
        ])
        .stdin(stdout)
        .output()
        .expect("running psql");
    assert!(
        restore.status.success(),
        "{}",
        String::from_utf8_lossy(&restore.stderr)
    );
    assert!(dump.wait().expect("waiting for pg_dump").success());
}
