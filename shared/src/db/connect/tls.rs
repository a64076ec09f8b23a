//! TLS, with libpq's meanings of SSLMODE.

use crate::config::SslMode;
use native_tls::{Certificate, TlsConnector};
use postgres_native_tls::MakeTlsConnector;
use std::fmt;
use std::path::Path;
use tokio_postgres::config::SslMode as Insistence;

/// How to secure a connection.
pub(super) struct Tls {
    mode: SslMode,
    connector: MakeTlsConnector,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the certificates at `roots`, which then replace those of the system. The error says
    /// what is wrong with them.
    pub(super) fn new(mode: SslMode, roots: Option<&Path>) -> Result<Self, String> {
        let mut builder = TlsConnector::builder();
        let (any_chain, any_name) = match mode {
            SslMode::Disable | SslMode::Prefer => (true, true),
            SslMode::Require => (roots.is_none(), true),
            SslMode::VerifyCa => (false, true),
            SslMode::VerifyFull => (false, false),
        };
        builder
            // Reading the system's certificates takes longer than connecting to a near server.
            .disable_built_in_roots(any_chain)
            .danger_accept_invalid_certs(any_chain)
            .danger_accept_invalid_hostnames(any_name);
        if let Some(path) = roots.filter(|_| !any_chain) {
            builder.disable_built_in_roots(true);
            for certificate in certificates(path)? {
                builder.add_root_certificate(certificate);
            }
        }
        let connector = builder
            .build()
            .map_err(|error| format!("TLS cannot be set up: {error}"))?;
        Ok(Self {
            mode,
            connector: MakeTlsConnector::new(connector),
        })
    }

    pub(super) fn connector(&self) -> MakeTlsConnector {
        self.connector.clone()
    }

    /// What to ask tokio-postgres for; it leaves all checks of certificates to the connector.
    pub(super) const fn insistence(&self) -> Insistence {
        match self.mode {
            SslMode::Disable => Insistence::Disable,
            SslMode::Prefer => Insistence::Prefer,
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => Insistence::Require,
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, String> {
    let name = path.display();
    let pem = std::fs::read(path).map_err(|error| format!("{name} cannot be read: {error}"))?;
    let certificates = Certificate::stack_from_pem(&pem)
        .map_err(|error| format!("{name} holds no certificates in PEM: {error}"))?;
    if certificates.is_empty() {
        return Err(format!("{name} holds no certificates in PEM"));
    }
    Ok(certificates)
}
