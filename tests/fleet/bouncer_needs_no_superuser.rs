//! From the installation to the bounce, no superuser is needed, on any supported version: who installs may create schemas in the
//! database, and roles; the bouncer is the role that owns the table.

use fleet_tests::bouncer;
use fleet_tests::database::Database;
use fleet_tests::postgres::{Bindir, PrivateOptions, Server};
use fleet_tests::processor::command_at;
use fleet_tests::wait;

use crate::ingress;

#[tokio::test]
async fn on_every_version() {
    for bindir in Bindir::all() {
        let server = Server::private(PrivateOptions {
            bindir: Some(bindir),
            ..PrivateOptions::default()
        })
        .await;
        let db = Database::empty_on(&server).await;
        db.execute(&format!(
            "CREATE ROLE installer LOGIN CREATEROLE; GRANT CREATE ON DATABASE {} TO installer",
            db.name()
        ))
        .await;
        let source = server.source();
        for expected in ["pepsi 1.1 installed", "pepsi 1.1 is already installed"] {
            let output = command_at(&db.url_as("installer"), &["install", "--with", "pepsi"]).await;
            assert_eq!(output.code, 0, "{source} {output}");
            assert!(output.stdout.contains(expected), "{source} {output}");
        }
        let check = bouncer::builder(&db).arg("--check").run().await;
        assert_eq!(
            (check.code, check.stdout.as_str()),
            (0, "ready\n"),
            "{source} {check}"
        );
        let before = ingress::stuck(&db, "relay", "failed").await;
        let _bouncer = bouncer::start(bouncer::builder(&db)).await;
        let after = ingress::stuck(&db, "relay", "timeout").await;
        ingress::wait_until_bounced(&db, before, wait::SOON).await;
        ingress::wait_until_bounced(&db, after, wait::SOON).await;
    }
}
