//! The exit status of a command.

use std::process::ExitCode;

/// The exit status. An error is [`Fault`](Self::Fault).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Everything was done, and every check passed.
    Success,
    /// A check failed.
    Failed,
    /// The input or the environment is at fault.
    Fault,
    /// A program that was started ended so.
    Ended(u8),
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Success => Self::SUCCESS,
            Status::Failed => Self::from(1),
            Status::Fault => Self::from(2),
            Status::Ended(code) => Self::from(code),
        }
    }
}
