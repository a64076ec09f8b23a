//! PgBouncer in transaction mode can carry neither LISTEN nor prepared statements: refused with the reason. Session mode will do.

use fleet_tests::bouncer;
use fleet_tests::daemon::Builder;
use fleet_tests::database::Database;
use fleet_tests::{skip, wait};

use crate::ingress;
use crate::pooler::Pooler;

/// A bouncer that connects through the pooler.
async fn through(pooler: &Pooler, db: &Database) -> Builder {
    bouncer::builder(db)
        .set_in("pepsi-postgres", "USER", db.endpoint().user())
        .set_in("pepsi-postgres", "HOST", "127.0.0.1")
        .set_in("pepsi-postgres", "PORT", pooler.port().await)
}

#[tokio::test]
async fn in_every_mode() {
    let db = bouncer::database().await;
    let Some(pooler) = Pooler::start(&db, "transaction", "") else {
        skip!("pooler", "pgbouncer is not installed");
    };
    let id = ingress::stuck(&db, "relay", "failed").await;
    for argument in ["--once", "--failed-only"] {
        let output = through(&pooler, &db).await.arg(argument).run().await;
        assert_eq!(output.code, 76, "{output}");
        let finding = "bounce:pooler: a pooler hands one server session to several clients";
        assert!(output.stderr.contains(finding), "{output}");
    }
    assert_eq!(ingress::place(&db, id).await, "relay/failed");
}

#[tokio::test]
async fn but_works_through_a_session_pooler() {
    let db = bouncer::database().await;
    let Some(pooler) = Pooler::start(&db, "session", "") else {
        skip!("pooler", "pgbouncer is not installed");
    };
    let _bouncer = bouncer::start(through(&pooler, &db).await.set("SWEEP_INTERVAL", "1d")).await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, id, wait::SOON).await;
}
