//! PgBouncer in transaction mode is recognised and refused; in session mode it will do.

use std::process::{Child, Command, Stdio};

use fleet_tests::database::Database;
use fleet_tests::processor::command_at;
use fleet_tests::{skip, wait};

/// A PgBouncer in front of a database.
struct Pooler {
    child: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Pooler {
    fn start(database: &Database, mode: &str) -> Option<Self> {
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"]
            .into_iter()
            .find(|path| std::path::Path::new(path).is_file())?;
        let directory = tempfile::tempdir().expect("a directory for PgBouncer");
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        let endpoint = database.endpoint();
        let users = directory.path().join("users.txt");
        let user = endpoint.user();
        std::fs::write(&users, format!("\"{user}\" \"\"\n")).expect("the user list");
        let settings = directory.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = trust\nauth_file = {}\npool_mode = {mode}\n",
            endpoint.host(),
            endpoint.port(),
            users.display()
        );
        std::fs::write(&settings, text).expect("PgBouncer's settings");
        let mut command = Command::new(program);
        if nix::unistd::Uid::effective().is_root() {
            use std::os::unix::fs::PermissionsExt as _;
            // It refuses to run as root, and must then be able to read what we have written.
            let readable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(directory.path(), readable).expect("an open directory");
            command.args(["-u", "nobody"]);
        }
        let child = command
            .arg(&settings)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starting PgBouncer");
        Some(Self {
            child,
            port,
            _directory: directory,
        })
    }

    /// The URL of the database through the pooler, once it listens.
    async fn url(&self, database: &Database) -> String {
        let port = self.port;
        wait::until("PgBouncer to listen", wait::SOON, || async move {
            tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .map(drop)
        })
        .await;
        format!(
            "postgres://{}@127.0.0.1:{port}/{}",
            database.endpoint().user(),
            database.name()
        )
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // Gone already, or ours to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn transaction_mode_is_refused_with_the_reason() {
    let database = Database::with_schema().await;
    let Some(pooler) = Pooler::start(&database, "transaction") else {
        skip!("pooler", "pgbouncer is not installed");
    };
    let output = command_at(&pooler.url(&database).await, &["check"]).await;
    assert_eq!(output.code, 76, "{output}");
    assert!(
        output.stdout.starts_with(
            "blocking relay:pooler: a pooler hands one server session to several clients"
        ),
        "{output}"
    );
}

#[tokio::test]
async fn session_mode_will_do() {
    let database = Database::with_schema().await;
    let Some(pooler) = Pooler::start(&database, "session") else {
        skip!("pooler", "pgbouncer is not installed");
    };
    let output = command_at(&pooler.url(&database).await, &["check"]).await;
    assert_eq!(output.code, 0, "{output}");
}
