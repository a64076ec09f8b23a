//! The few things asked of a Docker engine directly, and a bridge to engines older than the client library.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

use crate::paths::is_alive;

/// The label of every container of these tests; its value is the process id of the owner.
pub(crate) const OWNER_LABEL: &str = "pgrelay.test.owner";

const ANSWER_LIMIT: Duration = Duration::from_secs(10);
const LARGEST_HEAD: usize = 64 * 1024;

/// A Docker engine that has answered.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    socket: PathBuf,
    newest_api: (u32, u32),
}

impl Engine {
    /// The engine at a socket.
    pub(crate) async fn at(socket: &Path) -> Result<Self, String> {
        let answer = request(socket, "GET", "/version").await;
        let (_, body) =
            answer.map_err(|error| format!("no Docker engine at {}: {error}", socket.display()))?;
        let version = body["ApiVersion"].as_str().and_then(parse_version);
        let newest_api =
            version.ok_or_else(|| format!("{} does not name its version", socket.display()))?;
        Ok(Self {
            socket: socket.to_path_buf(),
            newest_api,
        })
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(crate) async fn has_image(&self, image: &str) -> bool {
        let answer = request(&self.socket, "GET", &format!("/images/{image}/json")).await;
        matches!(answer, Ok((200, _)))
    }

    /// Removes the containers of owners that are gone.
    pub(crate) async fn sweep_containers(&self) {
        let path =
            format!("/containers/json?all=1&filters=%7B%22label%22%3A%5B%22{OWNER_LABEL}%22%5D%7D");
        let Ok((200, Value::Array(containers))) = request(&self.socket, "GET", &path).await else {
            return;
        };
        for container in containers {
            let owner = container["Labels"][OWNER_LABEL]
                .as_str()
                .and_then(|owner| owner.parse().ok());
            if let (Some(id), Some(owner)) = (container["Id"].as_str(), owner)
                && !is_alive(owner)
            {
                // What cannot be removed now is tried again by the next run.
                let _ = request(
                    &self.socket,
                    "DELETE",
                    &format!("/containers/{id}?force=1&v=1"),
                )
                .await;
            }
        }
    }

    /// Serves `path` as a Docker socket on which requests for a newer API than the engine's ask for the engine's own.
    ///
    /// The client library speaks one fixed version. Debian 12's engine refuses it, and accepts the same requests under
    /// its own version number.
    pub(crate) fn bridge(&self, path: &Path) -> std::io::Result<()> {
        let listener = UnixListener::bind(path)?;
        // Whoever may talk to the engine is root; nobody gets there through us.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let engine = self.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let engine = engine.clone();
                // The client sees a broken exchange as a closed connection, and reports it.
                tokio::spawn(async move { engine.forward(client).await });
            }
        });
        Ok(())
    }

    async fn forward(&self, mut client: UnixStream) -> std::io::Result<()> {
        let mut server = UnixStream::connect(&self.socket).await?;
        let mut received = Vec::new();
        let end_of_head = loop {
            if let Some(end) = find(&received, b"\r\n\r\n") {
                break end;
            }
            if client.read_buf(&mut received).await? == 0 || received.len() > LARGEST_HEAD {
                return Ok(());
            }
        };
        let head = String::from_utf8_lossy(&received[..end_of_head]).into_owned();
        server
            .write_all(rewrite_head(&head, self.newest_api).as_bytes())
            .await?;
        server.write_all(&received[end_of_head..]).await?;
        tokio::io::copy_bidirectional(&mut client, &mut server)
            .await
            .map(drop)
    }
}

/// Lowers the version in the path to `newest`, and makes this the only request of its connection, since only the first
/// one of a connection is looked at.
fn rewrite_head(head: &str, newest: (u32, u32)) -> String {
    let (line, rest) = head.split_once("\r\n").unwrap_or((head, ""));
    let mut parts = line.splitn(4, '/');
    let (method, version) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let path = parts.collect::<Vec<_>>().join("/");
    let asked = version.strip_prefix('v').and_then(parse_version);
    let line = match asked {
        Some(asked) if asked > newest => format!("{method}/v{}.{}/{path}", newest.0, newest.1),
        _ => line.to_owned(),
    };
    // An upgraded connection carries no further requests, and needs its own Connection header.
    let upgrades = rest.to_ascii_lowercase().contains("upgrade:");
    let close = if upgrades {
        ""
    } else {
        "\r\nconnection: close"
    };
    format!("{line}{close}\r\n{rest}")
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

/// One request without a body; gives the status and the JSON of the answer, `null` where it has none.
async fn request(socket: &Path, method: &str, path: &str) -> Result<(u16, Value), String> {
    let exchange = async {
        let mut stream = UnixStream::connect(socket).await?;
        // HTTP/1.0 so that the answer is not chunked, and ends with the connection.
        stream
            .write_all(format!("{method} {path} HTTP/1.0\r\nHost: docker\r\n\r\n").as_bytes())
            .await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = tokio::time::timeout(ANSWER_LIMIT, exchange)
        .await
        .map_err(|_| "no answer".to_owned())?;
    let answer = answer.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").ok_or("not an HTTP answer")?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .ok_or("an answer without a status")?;
    Ok((status, serde_json::from_str(body).unwrap_or(Value::Null)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_version_is_lowered_and_an_older_one_kept() {
        let head = "GET /v1.53/images/x/json HTTP/1.1\r\nHost: docker";
        let closing = "\r\nconnection: close\r\nHost: docker";
        assert_eq!(
            rewrite_head(head, (1, 41)),
            format!("GET /v1.41/images/x/json HTTP/1.1{closing}")
        );
        assert_eq!(
            rewrite_head(head, (1, 54)),
            format!("GET /v1.53/images/x/json HTTP/1.1{closing}")
        );
    }

    #[test]
    fn a_path_without_a_version_and_an_upgrade_are_left_alone() {
        let head = "POST /exec/1/start HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp";
        assert_eq!(rewrite_head(head, (1, 41)), head);
    }
}
