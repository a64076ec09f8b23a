//! After a time in which nothing was served, the view is refreshed once and the next slot lies in the future; none is served twice, also when the
//! database's clock goes back.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::auto_mv_schedule_steps as schedules;

/// A view that is refreshed every minute.
async fn view() -> Database {
    let db = schedules::database().await;
    db.execute(
        "CREATE TABLE source (i integer);
         CREATE MATERIALIZED VIEW v AS SELECT * FROM source;
         SELECT pgauto_mv.register('v');
         SELECT pgauto_mv.create_schedule('minutely', '* * * * *', p_timezone => 'UTC');
         SELECT pgauto_mv.assign_schedule('v', 'minutely')",
    )
    .await;
    db
}

async fn dispatch(db: &Database) {
    db.execute(
        "SELECT pgauto_mv._process_pending(v.auto_mv_id) FROM pgauto_mv.materialised_views AS v",
    )
    .await;
}

const SERVED: &str = "SELECT count(*) FROM pgauto_mv.mv_refresh_log AS l WHERE l.success AND l.refresh_source = 'schedule'";

#[tokio::test]
async fn three_hours_of_missed_slots_are_one_refresh() {
    let db = view().await;
    db.execute("UPDATE pgauto_mv.mv_state SET next_scheduled_at = date_trunc('minute', clock_timestamp()) - interval '3 hours'")
        .await;
    for _ in 0..3 {
        dispatch(&db).await;
    }
    assert_eq!(db.query_one::<i64>(SERVED, &[]).await, 1);
    let next = "
        SELECT t.next_scheduled_at > clock_timestamp() AND t.next_scheduled_at <= clock_timestamp() + interval '1 minute'
        FROM pgauto_mv.mv_state AS t";
    assert!(
        db.query_one::<bool>(next, &[]).await,
        "the next slot is not the coming minute"
    );
}

#[tokio::test]
async fn a_clock_that_was_set_back_serves_nothing_twice() {
    let db = view().await;
    // As if the slots of the coming hour had been served already.
    db.execute(
        "UPDATE pgauto_mv.mv_state
         SET last_scheduled_at = date_trunc('minute', clock_timestamp()) + interval '1 hour',
             next_scheduled_at = date_trunc('minute', clock_timestamp())",
    )
    .await;
    let beyond = "SELECT t.next_scheduled_at = t.last_scheduled_at + interval '1 minute' FROM pgauto_mv.mv_state AS t";
    dispatch(&db).await;
    assert!(
        db.query_one::<bool>(beyond, &[]).await,
        "advanced to a slot that was served"
    );
    db.execute("SELECT pgauto_mv.update_schedule('minutely', p_cron => '*/1 * * * *')")
        .await;
    assert!(
        db.query_one::<bool>(beyond, &[]).await,
        "changed to a slot that was served"
    );
}

#[tokio::test]
async fn a_processor_serves_slot_after_slot() {
    let db = view().await;
    db.execute("SELECT pgauto_mv.update_schedule('minutely', p_every => '1 second')")
        .await;
    let processor = Processor::start(&db).await;
    wait::until("three slots to be served", wait::SOON, || async {
        match db.query_one::<i64>(SERVED, &[]).await {
            served if served >= 3 => Ok(()),
            served => Err(format!("{served} served")),
        }
    })
    .await;
    drop(processor);
}
