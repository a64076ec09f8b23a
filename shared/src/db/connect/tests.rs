use super::Connector;
use crate::config::{Document, PostgresConfig};

fn connector(text: &str) -> Result<Connector, String> {
    let document = Document::parse("/c", text).unwrap();
    let config: PostgresConfig = document.section(PostgresConfig::SECTION).unwrap();
    Connector::new(&config).map_err(|error| document.locate(error).to_string())
}

#[test]
fn the_target_names_hosts_and_database() {
    let text = "[pepsi-postgres]\nHOST = [\"/run/pg\", \"db1\", \"::1\"]\nPORT = 5433";
    assert_eq!(
        connector(text).unwrap().target(),
        "database \"pepsi\" on /run/pg/.s.PGSQL.5433, db1:5433, [::1]:5433"
    );
}

#[test]
fn ports_must_fit_the_hosts() {
    let message = connector("[pepsi-postgres]\nPORT = [1, 2]").unwrap_err();
    assert_eq!(
        message,
        "/c:2: [pepsi-postgres] PORT: 2 ports for 1 hosts; give one port for all hosts, or one per host"
    );
}

#[test]
fn a_missing_certificate_file_is_named() {
    let text = "[pepsi-postgres]\nSSLMODE = \"verify-full\"\nSSLROOTCERT = \"/nonexistent.pem\"";
    let message = connector(text).unwrap_err();
    assert!(
        message.starts_with("/c:3: [pepsi-postgres] SSLROOTCERT: /nonexistent.pem cannot be read"),
        "{message}"
    );
}

#[test]
fn a_debug_print_shows_no_password() {
    let connector = Connector::from_url("postgres://u:swordfish@localhost/x").unwrap();
    assert!(!format!("{connector:?}").contains("swordfish"));
}

#[tokio::test]
async fn a_socket_nobody_listens_on_is_unreachable() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("host={} user=u dbname=x", directory.path().display());
    let error = Connector::from_url(&url)
        .unwrap()
        .connect("test", &[])
        .await
        .expect_err("nobody listens");
    let message = error.to_string();
    assert!(message.starts_with("cannot reach /"), "{message}");
    assert!(
        message.contains("(database \"x\", user \"u\"): No such file"),
        "{message}"
    );
    assert!(!error.is_login_refused());
}

#[tokio::test]
async fn a_server_that_says_nothing_runs_into_the_limit() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let text = format!(
        "[pepsi-postgres]\nHOST = \"127.0.0.1\"\nPORT = {port}\nUSER = \"u\"\nCONNECT_TIMEOUT = \"100ms\""
    );
    let error = connector(&text)
        .unwrap()
        .connect("test", &[])
        .await
        .expect_err("nobody answers");
    assert!(
        error
            .to_string()
            .ends_with("(database \"pepsi\", user \"u\") within 100ms"),
        "{error}"
    );
}
