//! A message that a constraint or a trigger of the table will not let go holds up no other; what the table says about it is not logged.

use std::time::Duration;

use fleet_tests::bouncer;
use fleet_tests::database::Database;
use fleet_tests::wait;

use crate::ingress;

/// Lets message `id` stay where it is, and quotes it.
async fn hold(db: &Database, id: i64) {
    db.execute(&format!(
        "CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF NEW.id = {id} AND NEW.status = 'pending' THEN
                 RAISE EXCEPTION 'swordfish' USING DETAIL = NEW.sender, HINT = 'swordfish';
             END IF;
             RETURN NEW;
         END $$;
         CREATE TRIGGER hold BEFORE UPDATE ON pepsi.ingress FOR EACH ROW EXECUTE FUNCTION public.hold();"
    ))
    .await;
}

#[tokio::test]
async fn in_a_sweep_and_while_it_listens() {
    let db = bouncer::database().await;
    let before = ingress::stuck(&db, "relay", "failed").await;
    let held = ingress::stuck(&db, "relay", "failed").await;
    let behind = ingress::stuck(&db, "relay", "timeout").await;
    hold(&db, held).await;
    let once = bouncer::builder(&db)
        .set("LOG_LEVEL", "trace")
        .arg("--once")
        .run()
        .await;
    assert_eq!(
        once.stdout, "bounced 2 (failed 1, timeout 1), left 0 at stage bounce\n",
        "{once}"
    );
    assert_eq!(once.code, 76, "{once}");
    assert!(
        once.stderr.contains(&format!(
            "message {held} stuck: pepsi.ingress refuses the move (SQLSTATE P0001)"
        )),
        "{once}"
    );
    for id in [before, behind] {
        assert_eq!(ingress::place(&db, id).await, "bounce/pending");
    }

    let builder = bouncer::builder(&db)
        .set("LOG_LEVEL", "trace")
        .set("SWEEP_INTERVAL", "200ms");
    let mut bouncer = bouncer::start(builder).await;
    let after = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, after, wait::SOON).await;
    // Told of while it is refused, with others in the same batch.
    db.rows(
        "SELECT pg_notify('ingress_failed', id::text) FROM pepsi.ingress",
        &[],
    )
    .await;
    wait::while_holding(
        "the message that is held",
        Duration::from_secs(1),
        || async { ingress::place(&db, held).await == "relay/failed" },
    )
    .await;
    let log = bouncer.logs();
    assert_eq!(
        log.matches(&format!("message {held} stuck")).count(),
        1,
        "{log}"
    );
    for secret in ["swordfish", "ann@example.org", "bob@example.net"] {
        assert!(
            !log.contains(secret) && !once.stderr.contains(secret),
            "{log}{once}"
        );
    }
    db.execute("DROP TRIGGER hold ON pepsi.ingress").await;
    ingress::wait_until_bounced(&db, held, wait::SOON).await;
    assert_eq!(bouncer.exit_code(), None);
}

#[tokio::test]
async fn and_a_table_that_refuses_everything_is_tried_again() {
    let db = bouncer::database().await;
    db.execute(
        "ALTER TABLE pepsi.ingress ADD CONSTRAINT known_stage CHECK (stage IN ('relay', 'scan'))",
    )
    .await;
    db.execute(
        "INSERT INTO pepsi.ingress (stage, status, sender, recipients, message)
         SELECT 'relay', 'failed', 'ann@example.org', '[]', 'swordfish' FROM generate_series(1, 200)",
    )
    .await;
    let once = bouncer::builder(&db).arg("--once").run().await;
    assert_eq!(once.code, 76, "{once}");
    assert!(
        once.stderr.contains("pepsi-failure-bouncer: pepsi.ingress refuses what is to be moved (SQLSTATE 23514): look at its constraints and triggers"),
        "{once}"
    );
    assert!(!once.stderr.contains("ann@example.org"), "{once}");

    let mut bouncer = bouncer::start(bouncer::builder(&db)).await;
    bouncer
        .wait_for_log("not bouncing: pepsi.ingress refuses", wait::SOON)
        .await;
    db.execute("ALTER TABLE pepsi.ingress DROP CONSTRAINT known_stage")
        .await;
    let moved = "SELECT count(*) FROM pepsi.ingress WHERE stage = 'bounce' AND status = 'pending'";
    db.until_equals(moved, 200_i64, wait::SOON).await;
}
