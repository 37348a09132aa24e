//! The key that ranks of one program know, and others do not.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::processes::ProcessError;

/// Bytes of a proof.
pub(super) const PROOF_BYTES: usize = 32;

/// A key. It never travels: each side proves that it has it.
#[derive(Clone)]
pub(crate) struct Secret(Vec<u8>);

impl Secret {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// The key of programs without one, whose ranks are on one machine.
    pub(crate) fn open() -> Self {
        Self::new(b"devarray: no secret")
    }

    /// Another key, that nobody can guess.
    pub(crate) fn random() -> Result<Self, ProcessError> {
        random().map(|bytes: [u8; 32]| Self::new(&bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn mac(&self, parts: &[&[u8]]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        for part in parts {
            mac.update(part);
        }
        Some(mac)
    }

    /// Proves that one has the key, for these bytes. The parts have fixed lengths, or one alone has not.
    pub(super) fn proof(&self, parts: &[&[u8]]) -> [u8; PROOF_BYTES] {
        // A key of any length is one.
        self.mac(parts).map_or([0; PROOF_BYTES], |mac| mac.finalize().into_bytes().into())
    }

    /// Whether it is the proof for these bytes. Takes as long, wherever they differ.
    pub(super) fn accepts(&self, parts: &[&[u8]], proof: &[u8; PROOF_BYTES]) -> bool {
        self.mac(parts).is_some_and(|mac| mac.verify_slice(proof).is_ok())
    }
}

/// Shows nothing of it.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], ProcessError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| ProcessError::System { what: "random bytes".into(), reason: error.to_string() })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_one_key_and_one_message() {
        let (one, other) = (Secret::new(b"one"), Secret::new(b"other"));
        let proof = one.proof(&[b"nonce", b"rank 1"]);
        assert!(one.accepts(&[b"nonce", b"rank 1"], &proof));
        assert!(!other.accepts(&[b"nonce", b"rank 1"], &proof), "another key");
        assert!(!one.accepts(&[b"nonce", b"rank 2"], &proof), "another message");
        assert_eq!(format!("{one:?}"), "Secret");
    }
}
