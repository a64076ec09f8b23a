//! A message that fails or times out while a bouncer runs is at the bounce stage within 100 ms of the commit, in the median.

use fleet_tests::bouncer;
use fleet_tests::wait;

use crate::ingress;

const MESSAGES: i64 = 40;
const PROMISED_MS: f64 = 100.0;

#[tokio::test]
async fn measured_by_the_clock_of_the_server() {
    let db = bouncer::database().await;
    let _bouncer = bouncer::start(bouncer::builder(&db)).await;
    let mut waits = Vec::new();
    for (number, id) in ingress::send(&db, "relay", MESSAGES)
        .await
        .into_iter()
        .enumerate()
    {
        let status = if number % 2 == 0 { "failed" } else { "timeout" };
        let ended = ingress::end(&db, id, status).await;
        ingress::wait_until_bounced(&db, id, wait::SOON).await;
        let sql =
            "SELECT extract(epoch FROM at)::float8 FROM pepsi.ingress_trail WHERE ingress_id = $1";
        let moved: f64 = db.query_one(sql, &[&id]).await;
        waits.push((moved - ended) * 1000.0);
    }
    waits.sort_by(f64::total_cmp);
    let median = waits[waits.len() / 2];
    println!(
        "median {median:.1} ms, longest {:.1} ms",
        waits[waits.len() - 1]
    );
    assert!(median < PROMISED_MS, "{median:.1} ms: {waits:?}");
}
