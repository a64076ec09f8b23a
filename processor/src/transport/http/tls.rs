//! TLS for all requests, with the certificates that the system trusts.

use native_tls::{Protocol, TlsConnector};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Reading the system's certificates takes longer than most requests, so they are read once in a while: what an administrator adds or
/// removes takes effect within this time.
const AGE_MAX: Duration = Duration::from_mins(1);

/// Verifies certificates and names, and speaks TLS 1.2 or newer.
pub(super) fn connector() -> Result<TlsConnector, native_tls::Error> {
    static KEPT: Mutex<Option<(Instant, TlsConnector)>> = Mutex::new(None);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((made, connector)) = &*kept
        && made.elapsed() < AGE_MAX
    {
        return Ok(connector.clone());
    }
    let connector = TlsConnector::builder()
        .min_protocol_version(Some(Protocol::Tlsv12))
        .build()?;
    *kept = Some((Instant::now(), connector.clone()));
    Ok(connector)
}
