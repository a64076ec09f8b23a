//! When a host drops off the network, without a closed socket, its events are free within half a minute; it recovers by itself later.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server, StopMode};
use fleet_tests::processor::Processor;
use fleet_tests::{skip, wait};

use crate::held;
use crate::island::Island;
use crate::steps::{ended, notify};

/// Starts the same binary as `like` runs, on the island.
fn start_processor(island: &Island, like: &Processor, url: &str) -> Castaway {
    let binary = std::fs::read_link(format!("/proc/{}/exe", like.pid()));
    let child = Command::new("ip")
        .args(["netns", "exec", &island.name])
        .arg(binary.expect("the path of the Processor"))
        .args(["--database", url, "run"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Castaway(child.expect("starting a Processor on the island"))
}

/// A Processor on the island.
struct Castaway(Child);

impl Drop for Castaway {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn and_the_host_that_was_cut_off_recovers() {
    let Some(island) = Island::create(0) else {
        skip!("network", "a network namespace cannot be made here");
    };
    let trust = format!("host all far {}.2/32 trust", island.net);
    let mut server = Server::private(PrivateOptions {
        hba: &[&trust],
        ..PrivateOptions::default()
    })
    .await;
    let addresses = format!("127.0.0.1,{}.1", island.net);
    server.configure(&[("listen_addresses", &addresses)]);
    server.restart(StopMode::Fast).await;
    let db = Database::with_schema_on(&server).await;
    let gate = held::channels(&db).await;
    db.execute(
        "CREATE ROLE far LOGIN; GRANT pgrelay_processor TO far; GRANT INSERT ON effects TO far",
    )
    .await;

    let like = Processor::start(&db).await;
    let url = format!(
        "postgres://far@{}.1:{}/{}?sslmode=disable",
        island.net,
        server.port(),
        db.name()
    );
    let _castaway = start_processor(&island, &like, &url);
    drop(like);
    let id = held::hold(&db, &gate, "held").await;
    let holder = held::holders(&db).await[0];
    let near = Processor::start(&db).await;

    let began = Instant::now();
    island.cut();
    held::wait_for_another_holder(&db, holder, Duration::from_secs(45)).await;
    let took = began.elapsed();
    assert!(
        took > Duration::from_secs(5),
        "the network was not cut: the claim was free after {took:?}"
    );
    gate.open().await;
    assert_eq!(ended(&db, id).await, "done");
    assert_eq!(held::effects(&db).await, ["held"]);

    island.mend();
    drop(near);
    let id = notify(&db, "free", "after").await;
    let status = "SELECT status FROM pgrelay.queue ORDER BY id DESC LIMIT 1";
    db.until_equals(status, "done".to_owned(), Duration::from_secs(45))
        .await;
    assert_eq!(held::status(&db, id).await, "done");
    wait::until(
        "the far Processor to be listed alive",
        wait::SOON,
        || async {
            let sql = "SELECT count(*) FROM pgrelay.processor_status WHERE state = 'running'";
            match db.query_one::<i64>(sql, &[]).await {
                0 => Err("none"),
                _ => Ok(()),
            }
        },
    )
    .await;
}
