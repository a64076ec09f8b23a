//! The template database: the schema is installed once per server and build, then copied for each test.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use tokio_postgres::Client;

use crate::postgres::Endpoint;
use crate::{paths, processor};

// Any constant will do; only test processes take this lock.
const LOCK: i64 = 0x7067_7265_6c61_7930;

/// The name of a database with the schema of the current binary installed, and a companion as `--with` names it, made now if it is
/// not there yet.
pub(crate) async fn ensure(endpoint: &Endpoint, companion: Option<&str>) -> String {
    let mut name = name_for(&paths::binary(processor::BINARY));
    let mut command = vec!["install"];
    if let Some(companion) = companion {
        name.push('_');
        name.push_str(&companion.replace('-', "_"));
        command.extend(["--with", companion]);
    }
    let session = endpoint.connect("postgres").await;
    if exists(&session, &name).await {
        return name;
    }
    // Test processes start together; the first one installs, the others wait here and find it done.
    session
        .execute("SELECT pg_advisory_lock($1)", &[&LOCK])
        .await
        .expect("the template lock");
    if !exists(&session, &name).await {
        create(endpoint, &session, &name, &command).await;
    }
    name
}

async fn exists(session: &Client, name: &str) -> bool {
    let sql = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)";
    session
        .query_one(sql, &[&name])
        .await
        .expect("looking for the template")
        .get(0)
}

async fn create(endpoint: &Endpoint, session: &Client, name: &str, command: &[&str]) {
    // Built under another name, so that an installation which fails half-way is never taken for a template.
    let draft = format!("{name}_draft");
    let start = [
        format!("DROP DATABASE IF EXISTS {draft} WITH (FORCE)"),
        format!("CREATE DATABASE {draft} TEMPLATE template0"),
    ];
    for sql in start {
        session
            .batch_execute(&sql)
            .await
            .expect("an empty database for the template");
    }
    let output = processor::command_at(&endpoint.url(&draft), command).await;
    assert!(
        output.code == 0,
        "installing the schema for the tests failed: {output}"
    );
    let finish = [
        // Whoever connects to a template makes copying it fail.
        format!("ALTER DATABASE {draft} ALLOW_CONNECTIONS false"),
        format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{draft}'"),
        format!("ALTER DATABASE {draft} RENAME TO {name}"),
    ];
    for sql in finish {
        session
            .batch_execute(&sql)
            .await
            .expect("finishing the template");
    }
}

/// A rebuilt binary may carry another schema, and then needs another template.
fn name_for(binary: &Path) -> String {
    let metadata = std::fs::metadata(binary).expect("reading the binary's metadata");
    let mut hasher = DefaultHasher::new();
    metadata.len().hash(&mut hasher);
    metadata
        .modified()
        .expect("a modification time")
        .hash(&mut hasher);
    format!("pgrelay_template_{:016x}", hasher.finish())
}
