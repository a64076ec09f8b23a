//! Where a Docker engine and an image are at hand, the shared server is a container.

use fleet_tests::database::Database;
use fleet_tests::postgres::Server;

#[tokio::test]
async fn the_shared_server_is_a_container_where_there_can_be_one() {
    let server = Server::shared().await;
    if !server.source().starts_with("a container") {
        fleet_tests::skip!("containers", "the server is {}", server.source());
    }
    let database = Database::empty().await;
    // A server on this machine would have our own host among its processes; a container has a host name of its own.
    let sql = "SELECT pg_read_file('/etc/hostname')";
    let inside: String = database.query_one(sql, &[]).await;
    let outside = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    assert_ne!(
        inside.trim(),
        outside.trim(),
        "the server does not run in a container"
    );
}

#[tokio::test]
async fn the_port_of_the_container_is_closed_to_other_machines() {
    let server = Server::shared().await;
    if !server.source().starts_with("a container") {
        fleet_tests::skip!("containers", "the server is {}", server.source());
    }
    // Any address of the whole 127/8 net is ours; only the one that was bound may answer.
    let elsewhere = format!("127.0.0.2:{}", server.port());
    let attempt = tokio::net::TcpStream::connect(&elsewhere).await;
    assert!(
        attempt.is_err(),
        "the container listens on {elsewhere}, so on every address"
    );
}
