//! Certificates for scripted servers, made by the openssl command.

use crate::peer::Script;
use fleet_tests::mail::authority::{Authority, Identity};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tokio_native_tls::TlsAcceptor;

/// Certificates of one authority for a server on loopback.
#[derive(Clone)]
pub(crate) struct Certificates(Arc<(Authority, Identity)>);

impl Certificates {
    pub(crate) fn new() -> Self {
        let authority = Authority::new();
        let identity = authority.issue("server", "IP:127.0.0.1");
        Self(Arc::new((authority, identity)))
    }

    /// What to trust.
    pub(crate) fn authority(&self) -> PathBuf {
        self.0.0.certificate()
    }

    /// `script` with TLS as `security` has it, and with a login in the place where it belongs.
    pub(crate) fn serve(&self, security: &str, script: Script) -> Script {
        let Identity { certificate, key } = &self.0.1;
        serve(acceptor(certificate, key), security, script)
    }
}

/// TLS with a certificate and its key, both PEM.
pub(crate) fn acceptor(certificate: &Path, key: &Path) -> TlsAcceptor {
    let (certificate, key) = (
        std::fs::read(certificate).unwrap(),
        std::fs::read(key).unwrap(),
    );
    let identity = native_tls::Identity::from_pkcs8(&certificate, &key).unwrap();
    native_tls::TlsAcceptor::new(identity).unwrap().into()
}

/// The same with another certificate.
pub(crate) fn serve(acceptor: TlsAcceptor, security: &str, script: Script) -> Script {
    let offers = vec!["AUTH PLAIN LOGIN XOAUTH2"];
    let (before, after) = match security {
        "starttls" => (vec!["STARTTLS"], offers),
        "tls" => (vec![], offers),
        _ => (offers, vec![]),
    };
    Script {
        offers: before,
        offers_with_tls: after,
        logins: vec!["235 ok"],
        acceptor: Some(acceptor),
        begins_with_tls: security == "tls",
        ..script
    }
}

/// A certificate that has expired.
pub(crate) fn expired(authority: &Authority) -> Identity {
    let fresh = authority.issue("expired", "IP:127.0.0.1");
    let request = fresh.certificate.with_extension("csr");
    let openssl = |arguments: &[&str]| {
        let output = Command::new("openssl").args(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "openssl {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (key, request, certificate) = (path(&fresh.key), path(&request), path(&fresh.certificate));
    openssl(&[
        "req",
        "-new",
        "-key",
        &key,
        "-subj",
        "/CN=expired",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-out",
        &request,
    ]);
    let ca = authority.certificate();
    let ca_key = path(&ca.with_file_name("authority.key"));
    openssl(&[
        "x509",
        "-req",
        "-in",
        &request,
        "-CA",
        &path(&ca),
        "-CAkey",
        &ca_key,
        "-copy_extensions",
        "copy",
        "-days",
        "-1",
        "-out",
        &certificate,
    ]);
    fresh
}
