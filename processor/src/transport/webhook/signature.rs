//! Signatures of Standard Webhooks 1.0.0, scheme `v1`: HMAC-SHA256 over id, time and body.

use crate::transport::document::{Fields, Malformed};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretSlice};
use sha2::Sha256;
use std::ops::RangeInclusive;

/// Size of a key in bytes.
const KEY_BYTES: RangeInclusive<usize> = 24..=64;
/// Old and new keys while receivers change over.
const KEYS_MAX: usize = 5;

/// Secrets are pasted with and without their padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The keys that sign; none when the profile has no `signing_secret`.
#[derive(Default)]
pub(super) struct SigningKeys(Vec<SecretSlice<u8>>);

impl SigningKeys {
    /// Reads `signing_secret`: one key or, while keys are rotated, several with blanks between them.
    pub(super) fn read(profile: &Fields<'_>) -> Result<Self, Malformed> {
        let Some(secret) = profile.get("signing_secret") else {
            return Ok(Self::default());
        };
        let keys: Option<Vec<_>> = secret
            .secret()?
            .expose()
            .split_whitespace()
            .map(key)
            .collect();
        keys.filter(|keys| (1..=KEYS_MAX).contains(&keys.len()))
            .map(Self)
            .ok_or_else(|| {
                profile.malformed(
                    "signing_secret",
                    format!(
                        "expected the variable to hold whsec_ and {} to {} bytes in base64, up to {KEYS_MAX} times with blanks between them",
                        KEY_BYTES.start(),
                        KEY_BYTES.end(),
                    ),
                )
            })
    }

    /// The value of `webhook-signature`: a signature for each key.
    pub(super) fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> Option<String> {
        let signatures: Vec<String> = self
            .0
            .iter()
            .map(|key| sign(key.expose_secret(), id, timestamp, body))
            .collect();
        (!signatures.is_empty()).then(|| signatures.join(" "))
    }
}

fn key(text: &str) -> Option<SecretSlice<u8>> {
    let bytes = BASE64.decode(text.strip_prefix("whsec_")?).ok()?;
    KEY_BYTES.contains(&bytes.len()).then(|| bytes.into())
}

fn sign(key: &[u8], id: &str, timestamp: u64, body: &[u8]) -> String {
    // HMAC takes keys of any length; the error is that of other algorithms.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        unreachable!("HMAC takes keys of any length")
    };
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::SigningKeys;
    use crate::transport::document::Fields;
    use crate::transport::secrets::Secrets;
    use serde_json::json;

    fn keys(secret: &str) -> Result<SigningKeys, String> {
        let profile = json!({"signing_secret": "_env:KEY"});
        let value = secret.to_owned();
        let secrets = Secrets::new(|_| true, move |_| Some(value.clone().into()));
        let resolved = secrets.resolve(&profile).unwrap();
        let fields = Fields::of_profile(&profile, &resolved).unwrap();
        SigningKeys::read(&fields).map_err(|malformed| malformed.detail())
    }

    /// The example of the specification.
    #[test]
    fn the_known_signature_comes_out() {
        let keys = keys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = keys.sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(signature.as_deref(), Some(expected));
    }

    #[test]
    fn every_key_signs() {
        let one = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let signature = keys(&format!("{one}  {one}\n"))
            .unwrap()
            .sign("id", 1, b"")
            .unwrap();
        let parts: Vec<&str> = signature.split(' ').collect();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0], parts[1]);
        assert_eq!(SigningKeys::default().sign("id", 1, b""), None);
    }

    #[test]
    fn what_is_no_key_is_refused_without_being_quoted() {
        let short = "whsec_c2hvcnQ=";
        let long = format!("whsec_{}", "A".repeat(88));
        let good = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let many = [good; 6].join(" ");
        for secret in [
            " ",
            "whsec_",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa*w",
            short,
            &long,
            &many,
        ] {
            let problem = keys(secret).err().expect(secret);
            assert!(
                problem.starts_with("profile key signing_secret: "),
                "{problem}"
            );
            assert!(
                !problem.contains("MfKQ") && !problem.contains("c2hv"),
                "{problem}"
            );
        }
    }
}
