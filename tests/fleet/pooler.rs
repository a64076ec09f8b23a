//! A PgBouncer in front of a database.

use std::process::{Child, Command, Stdio};

use fleet_tests::database::Database;
use fleet_tests::wait;

/// Ended when the value is dropped.
pub(crate) struct Pooler {
    child: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Pooler {
    /// Starts one in a pool mode, with further lines for its section; `None` where it is not installed.
    pub(crate) fn start(database: &Database, mode: &str, settings: &str) -> Option<Self> {
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
        let file = directory.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = trust\nauth_file = {}\npool_mode = {mode}\n{settings}\n",
            endpoint.host(),
            endpoint.port(),
            users.display()
        );
        std::fs::write(&file, text).expect("PgBouncer's settings");
        let mut command = Command::new(program);
        if nix::unistd::Uid::effective().is_root() {
            use std::os::unix::fs::PermissionsExt as _;
            // It refuses to run as root, and must then be able to read what we have written.
            let readable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(directory.path(), readable).expect("an open directory");
            command.args(["-u", "nobody"]);
        }
        let child = command
            .arg(&file)
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

    /// Its port, once it listens there.
    pub(crate) async fn port(&self) -> u16 {
        let port = self.port;
        wait::until("PgBouncer to listen", wait::SOON, || async move {
            tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .map(drop)
        })
        .await;
        port
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // Gone already, or ours to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
