//! TLS: the system's OpenSSL, and either its certificates of authorities or those of the profile.

use super::plan::{CaFile, Plan};
use super::stop::Stop;
use crate::transport::Failure;
use native_tls::{Certificate, Protocol};
use shared::failure::{Evidence, Network, Phase, Unsendable};
use std::io::ErrorKind;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};
use tokio_native_tls::{TlsConnector, TlsStream};

/// Largest `ca_file` in bytes.
const CA_FILE_MAX: u64 = 1_048_576;

/// What trusts the authorities of the system, which are read once: there are many, and they take a while.
static OF_THE_SYSTEM: OnceCell<TlsConnector> = OnceCell::const_new();

/// Reads what is to be trusted, before anybody is bothered: the profile's certificates, and where it has none the system's, as those do it that have such a
/// setting (Postfix: smtp_tls_CAfile; libpq: sslrootcert).
pub(super) async fn connector(plan: &Plan, deadline: Instant) -> Result<TlsConnector, Failure> {
    let building = async {
        let Some(file) = &plan.ca_file else {
            let connector = OF_THE_SYSTEM.get_or_try_init(|| build(Vec::new())).await?;
            return Ok(connector.clone());
        };
        let trusted = certificates(&read(file).await?);
        build(trusted.ok_or_else(|| unusable(file, "expected certificates in PEM"))?).await
    };
    // A host that is slow now is another one later.
    let late = |_| Stop::broken(Phase::Handshake, Network::Timeout).failure;
    timeout_at(deadline, building).await.map_err(late)?
}

/// `trusted` takes the place of the system's authorities, unless it is empty. Not among those who wait: the library reads the system's in any case.
async fn build(trusted: Vec<Certificate>) -> Result<TlsConnector, Failure> {
    let building = spawn_blocking(move || {
        let mut builder = native_tls::TlsConnector::builder();
        // RFC 8996.
        builder.min_protocol_version(Some(Protocol::Tlsv12));
        builder.disable_built_in_roots(!trusted.is_empty());
        for certificate in trusted {
            builder.add_root_certificate(certificate);
        }
        builder.build()
    });
    let built = building
        .await
        .map_err(|error| not_set_up(&error.to_string()))?;
    let connector = built.map_err(|error| not_set_up(&error.to_string()))?;
    Ok(connector.into())
}

async fn read(file: &CaFile) -> Result<Vec<u8>, Failure> {
    let unreadable = |error: std::io::Error| match error.kind() {
        kind @ (ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory) => {
            unusable(file, &format!("it cannot be read: {kind}"))
        }
        // Of this host, and not of the profile: too many open files, say.
        kind => not_set_up(&kind.to_string()),
    };
    // A pipe or a device could keep the reader for ever.
    let metadata = tokio::fs::metadata(&file.path).await.map_err(unreadable)?;
    if !metadata.is_file() || metadata.len() > CA_FILE_MAX {
        return Err(unusable(
            file,
            &format!("expected a file of at most {CA_FILE_MAX} bytes"),
        ));
    }
    let opened = tokio::fs::File::open(&file.path)
        .await
        .map_err(unreadable)?;
    let mut pem = Vec::new();
    opened
        .take(CA_FILE_MAX)
        .read_to_end(&mut pem)
        .await
        .map_err(unreadable)?;
    Ok(pem)
}

/// At least one.
fn certificates(pem: &[u8]) -> Option<Vec<Certificate>> {
    let certificates = Certificate::stack_from_pem(pem).ok()?;
    (!certificates.is_empty()).then_some(certificates)
}

fn unusable(file: &CaFile, problem: &str) -> Failure {
    let summary = format!("profile key ca_file: {problem}");
    let detail = format!("{summary}, got {:?}", file.shown);
    Failure::unsendable(Unsendable::Profile, summary, detail)
}

fn not_set_up(problem: &str) -> Failure {
    let text = format!("TLS cannot be set up: {problem}");
    Failure::new(Evidence::Network(Network::Handshake), text.clone(), text)
}

/// Shakes hands with the host of the profile, whose name its certificate must bear.
pub(super) async fn handshake(
    connector: &TlsConnector,
    plan: &Plan,
    stream: TcpStream,
    deadline: Instant,
) -> Result<TlsStream<TcpStream>, Stop> {
    match timeout_at(deadline, connector.connect(&plan.host, stream)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) if is_about_certificate(&error) => {
            let mut stop = Stop::broken(Phase::Handshake, Network::Handshake);
            "the certificate of the server is not trusted".clone_into(&mut stop.failure.summary);
            stop.failure.evidence = Evidence::Certificate;
            stop.failure.detail = format!("{}: {error}", stop.failure.summary);
            Err(stop)
        }
        Ok(Err(error)) => {
            let mut stop = Stop::broken(Phase::Handshake, Network::Handshake);
            stop.failure.detail = format!("{}: {error}", stop.failure.summary);
            Err(stop)
        }
        Err(_) => Err(Stop::broken(Phase::Handshake, Network::Timeout)),
    }
}

/// The library tells by no other means than OpenSSL's own word for it, which is that of X509_verify_cert(3) for every cause.
fn is_about_certificate(error: &native_tls::Error) -> bool {
    error.to_string().contains("certificate verify failed")
}
