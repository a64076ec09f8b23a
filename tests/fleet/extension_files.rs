//! The files of our extensions where a server of this machine finds them, and a copy of a database through pg_dump.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fleet_tests::database::Database;
use fleet_tests::postgres::{Bindir, PrivateOptions, Server};
use fleet_tests::processor::command_at;

/// A database to be filled and one to be restored into, on a server that finds the files of our extensions.
pub(crate) struct Pair {
    pub(crate) original: Database,
    pub(crate) restored: Database,
    bindir: Bindir,
    _server: Server,
    _files: Files,
}

impl Pair {
    /// With the files that `install --as-extension` makes with these further arguments; the error says why this machine cannot have them.
    pub(crate) async fn with(arguments: &[&str]) -> Result<Self, String> {
        let bindir =
            Bindir::with_clients().ok_or("PostgreSQL's client programs are not installed")?;
        let files = Files::put_for(&bindir, arguments).await;
        let files = files.map_err(|why| format!("the server's extension directory: {why}"))?;
        let server = Server::private(PrivateOptions {
            bindir: Some(bindir.clone()),
            ..PrivateOptions::default()
        })
        .await;
        Ok(Self {
            original: Database::empty_on(&server).await,
            restored: Database::empty_on(&server).await,
            bindir,
            _server: server,
            _files: files,
        })
    }

    /// Dumps the one and restores it into the other.
    pub(crate) fn copy(&self) {
        copy(&self.bindir, &self.original, &self.restored);
    }
}

/// Files put where the server looks for extensions; taken away with the value.
struct Files {
    paths: Vec<PathBuf>,
    /// Held by one test at a time: the names are the same for all.
    _turn: File,
}

impl Files {
    /// Writes the files with `install --as-extension` and these further arguments. Fails when a file is there already, or none may be written.
    async fn put_for(bindir: &Bindir, arguments: &[&str]) -> Result<Self, String> {
        let directory = extension_directory(bindir);
        let staging = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = staging.path().display().to_string();
        let command = [&["install", "--as-extension", &path], arguments].concat();
        let output = command_at("postgres://nobody@127.0.0.1:1/none", &command).await;
        assert_eq!(output.code, 0, "{output}");
        let mut files = Self {
            paths: Vec::new(),
            _turn: take_turn().await,
        };
        for line in output.stdout.lines() {
            let source = Path::new(line);
            let target = directory.join(source.file_name().expect("a file name"));
            if target.exists() {
                return Err(format!("{} is there already", target.display()));
            }
            std::fs::copy(source, &target)
                .map_err(|error| format!("{}: {error}", target.display()))?;
            files.paths.push(target);
        }
        Ok(files)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in &self.paths {
            // Whoever removed it before us wanted the same.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Waits for the other test that needs the directory; the lock ends with its process at the latest.
async fn take_turn() -> File {
    let path = std::env::temp_dir().join("pgrelay-test-extension.lock");
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .expect("the lock of the extension directory");
    let waiting = tokio::task::spawn_blocking(move || file.lock().map(|()| file));
    let locked = tokio::time::timeout(std::time::Duration::from_mins(3), waiting).await;
    locked
        .expect("a turn at the extension directory within three minutes")
        .expect("the thread that waits")
        .expect("locking")
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
pub(crate) fn copy(bindir: &Bindir, from: &Database, to: &Database) {
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
