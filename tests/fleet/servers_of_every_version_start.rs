//! The PostgreSQL versions which a long run fetches can be used like the machine's own.

use fleet_tests::database::Database;
use fleet_tests::postgres::{Bindir, PrivateOptions, Server};

#[tokio::test]
async fn a_private_server_of_every_version_serves_a_database() {
    let versions = Bindir::all();
    if fleet_tests::long_run() && versions.len() < 2 {
        fleet_tests::skip!("versions", "no other PostgreSQL version was fetched");
    }
    for bindir in versions {
        let version = bindir.version();
        let options = PrivateOptions {
            bindir: Some(bindir),
            ..PrivateOptions::default()
        };
        let server = Server::private(options).await;
        let database = Database::empty_on(&server).await;
        let running: String = database.query_one("SHOW server_version", &[]).await;
        assert!(
            version.contains(&running),
            "{running} runs where {version} was asked for"
        );
    }
}
