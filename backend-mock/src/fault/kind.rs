//! The ways in which a planned call fails.

use devarray::{Error, backend::Quiesced};

use super::Site;
use crate::backend::BACKEND;

/// The way in which a call that a [plan](super::FaultPlan) names fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// The call returns an error and changes nothing: out of memory if memory is asked for,
    /// otherwise an error of the driver. After a wait, the state of the work is unknown, as if an
    /// operation were stuck.
    Refused,
    /// A wait fails, and the work that it covers is cancelled. Other calls are refused.
    Cancelled,
    /// The device is lost at this call: work in flight is cancelled, and every later call returns
    /// the same error.
    Lost,
    /// The call returns as if nothing were wrong. The operation it enqueued moves some of its bytes
    /// when it runs, and then the device is lost. A call that enqueues nothing loses the device at
    /// once.
    Torn,
    /// A query that could return true by taking a step takes none and returns false. No fault at
    /// other sites.
    Late,
}

impl FaultKind {
    /// Every kind, with its name in plans.
    pub(super) const NAMES: [(Self, &'static str); 5] = [
        (Self::Refused, "refused"),
        (Self::Cancelled, "cancelled"),
        (Self::Lost, "lost"),
        (Self::Torn, "torn"),
        (Self::Late, "late"),
    ];

    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::NAMES.into_iter().map(|(kind, _)| kind)
    }

    /// Its name, as in plans: `refused`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(kind, _)| *kind == self).map_or("?", |(_, name)| name)
    }

    /// The error that a call of the site returns. `requested_bytes`: the size it asks for, if it
    /// allocates.
    pub(super) fn error(self, site: Site, requested_bytes: usize) -> Error {
        let operation = site.name();
        match self {
            Self::Lost | Self::Torn => {
                let name = "planned loss of the device".to_owned();
                Error::DeviceLost { backend: BACKEND, operation, code: LOST_CODE, name }
            }
            _ if site.allocates() => Error::out_of_memory(BACKEND, operation, requested_bytes, None),
            _ => {
                let name = "planned failure".to_owned();
                Error::Driver { backend: BACKEND, operation, code: REFUSED_CODE, name }
            }
        }
    }

    /// The result of a wait.
    pub(super) fn quiesced(self) -> Quiesced {
        match self {
            Self::Refused => Quiesced::Unknown(self.error(Site::Synchronize, 0)),
            Self::Cancelled | Self::Lost | Self::Torn => Quiesced::Ended(self.error(Site::Synchronize, 0)),
            Self::Late => Quiesced::Done,
        }
    }
}

/// CUDA's code for an unknown error.
const REFUSED_CODE: i32 = 999;
/// CUDA's code for a failed launch, which loses the context.
const LOST_CODE: i32 = 719;
