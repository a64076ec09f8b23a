//! A certification authority of one test, made by the openssl command.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::program::{directory, run};

/// Its certificates are trusted by whoever trusts [`Authority::certificate`].
#[derive(Debug)]
pub struct Authority {
    directory: TempDir,
}

/// A certificate and its private key, as files.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
}

impl Authority {
    /// A new one.
    ///
    /// # Panics
    /// Where there is no openssl command.
    #[must_use]
    pub fn new() -> Self {
        let authority = Self {
            directory: directory(),
        };
        authority.make("authority", &["-x509", "-days", "2"], &[]);
        authority
    }

    /// What to trust.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.file("authority.pem")
    }

    /// A certificate for a server of these names, `DNS:name` or `IP:address`, separated by commas.
    #[must_use]
    pub fn issue(&self, file: &str, names: &str) -> Identity {
        let names = format!("subjectAltName={names}");
        let (certificate, key) = (self.certificate(), self.file("authority.key"));
        let signing = [
            "-x509",
            "-days",
            "1",
            "-addext",
            &names,
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ];
        self.make(file, &signing, &[("-CA", &certificate), ("-CAkey", &key)]);
        Identity {
            certificate: self.file(&format!("{file}.pem")),
            key: self.file(&format!("{file}.key")),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn make(&self, name: &str, options: &[&str], files: &[(&str, &Path)]) {
        let mut openssl = Command::new("openssl");
        openssl
            .args(["req", "-new", "-newkey", "ec", "-pkeyopt"])
            .args(["ec_paramgen_curve:prime256v1", "-nodes", "-subj"])
            .arg(format!("/CN={name}"))
            .args(options)
            .arg("-keyout")
            .arg(self.file(&format!("{name}.key")))
            .arg("-out")
            .arg(self.file(&format!("{name}.pem")));
        for (option, file) in files {
            openssl.arg(option).arg(file);
        }
        run(&mut openssl);
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
