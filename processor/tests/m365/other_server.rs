//! A token endpoint that somebody else has written: oauth2-mock-server, from npm.

use crate::cloud::{accepted, send, with_secret};
use crate::peer::Peer;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use shared::failure::{Evidence, TokenCode};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

const START_LIMIT: Duration = Duration::from_secs(30);

/// Serves until its input ends; refuses one client, which the package by itself refuses nobody.
const SERVER: &str = "
import { OAuth2Server } from 'oauth2-mock-server';
const server = new OAuth2Server(undefined, undefined, { endpoints: { token: '/contoso.example/oauth2/v2.0/token' } });
await server.issuer.keys.generate('RS256');
server.service.on('beforeResponse', (response, request) => {
    if (request.body.client_id === 'stranger') {
        response.statusCode = 401;
        response.body = { error: 'invalid_client', error_codes: [7000215], error_description: 'unknown' };
    }
});
await server.start(0, '127.0.0.1');
console.log(server.address().port);
process.stdin.on('end', () => process.exit()).resume();
";

/// `Err`: why it cannot be had.
fn package() -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/oauth2-mock-server");
    let program = std::env::current_exe().expect("this program");
    let directory = program.ancestors().nth(2).expect("a build directory");
    let output = std::process::Command::new(script)
        .arg(directory)
        .output()
        .expect("starting the script");
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    assert!(output.status.code() != Some(64), "{said}");
    if !output.status.success() {
        return Err(said);
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// The server, and its port.
async fn start(package: &Path) -> (Child, u16) {
    let mut server = Command::new("node")
        .args(["--input-type=module", "--eval", SERVER])
        .current_dir(package)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("starting node");
    let mut lines = BufReader::new(server.stdout.take().expect("its output")).lines();
    let line = tokio::time::timeout(START_LIMIT, lines.next_line()).await;
    let line = line
        .expect("no port in time")
        .expect("its output")
        .expect("a line");
    (server, line.parse().expect("a port"))
}

#[tokio::test]
async fn its_tokens_are_used_and_its_refusals_understood() {
    let package = match package() {
        Ok(package) => package,
        Err(why) => fleet_tests::skip!("npm", "{why}"),
    };
    let (_server, port) = start(&package).await;
    let graph = Peer::plain(|_| accepted()).await;
    let mut profile = json!({
        "tenant_id": "contoso.example", "client_id": "1-2-3", "client_secret": "_env:SECRET", "sender": "a@contoso.example",
        "authority_url": format!("http://127.0.0.1:{port}"), "graph_url": graph.url("http"),
    });
    let transports = with_secret();
    for _ in 0..2 {
        send(&transports, &profile).await.sent();
    }
    let bearers: Vec<String> = graph
        .received()
        .iter()
        .map(|request| request.header("authorization").expect("a token").to_owned())
        .collect();
    assert_eq!(bearers[0], bearers[1], "the token is kept");
    let payload = bearers[0].split('.').nth(1).expect("a payload");
    let payload: Value =
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap();
    let scope = format!("{}/.default", graph.url("http"));
    assert!(
        payload["scope"] == json!(scope) || payload["scope"] == json!([scope]),
        "{payload}"
    );

    profile["client_id"] = json!("stranger");
    let outcome = send(&transports, &profile).await;
    let failure = outcome.failure();
    let code = TokenCode::Other;
    assert_eq!(failure.evidence, Evidence::Token { status: 401, code });
    assert_eq!(
        failure.detail,
        "token endpoint answered 401 invalid_client [7000215]: unknown"
    );
}
