//! Secrets for launchers.

use super::ProcessError;
use crate::collective::random;

/// A new secret for a job: 64 letters that nobody can guess, for `DEVARRAY_SECRET`.
///
/// ```
/// let [one, other] = [devarray::processes::new_secret()?, devarray::processes::new_secret()?];
/// assert!(one.len() == 64 && one != other);
/// # Ok::<(), devarray::processes::ProcessError>(())
/// ```
///
/// # Errors
///
/// The system has no random numbers.
pub fn new_secret() -> Result<String, ProcessError> {
    Ok(hex(&random::<32>()?))
}

/// The bytes as letters.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
