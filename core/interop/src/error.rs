//! The reasons why memory cannot go through a door.

use thiserror::Error;

use crate::{DataType, device::DeviceId};

/// The reason why memory cannot go through a door. An error has no other effect, and a refused
/// import was given back: its deleter was called.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DoorError {
    /// A structure of another major version, whose fields may mean anything.
    #[error("the structure is of version {major}.{minor}; the major version must be 1")]
    Version {
        /// Its major version.
        major: u32,
        /// Its minor version.
        minor: u32,
    },
    /// Memory of a device that the importing one does not reach.
    #[error("memory of device {found} is not reached by device {own}")]
    Device {
        /// The memory's device.
        found: DeviceId,
        /// The importing device.
        own: DeviceId,
    },
    /// Elements of a type that the other side, or this one, does not have.
    #[error("elements of type {data_type} {reason}")]
    DataType {
        /// The type.
        data_type: DataType,
        /// The problem with it.
        reason: &'static str,
    },
    /// The type of the elements is not the one that was asked for.
    #[error("elements are {found}, not {expected}")]
    OtherDataType {
        /// The type of the elements.
        found: DataType,
        /// The type that was asked for.
        expected: DataType,
    },
    /// A field with an impossible value.
    #[error("{field}: {reason}")]
    Field {
        /// The field of the structure, as its standard calls it.
        field: &'static str,
        /// The problem with it.
        reason: &'static str,
    },
    /// The memory is read-only. Either the form cannot say so, or the caller wants to write.
    #[error("the memory is read-only")]
    ReadOnly,
    /// The layout reaches an element by several indices, as a broadcast does, so nobody may write.
    /// Either the form cannot say so, or the caller wants to write.
    #[error(
        "elements share memory, so it is read-only: copy the array, or ask for DLPack 1.0, which says so"
    )]
    Repeats,
    /// Somebody else has the memory too, so it cannot be written here.
    #[error(
        "the memory is shared: drop what else was made from the array, or was exported, before it is written"
    )]
    Shared,
    /// The form cannot describe such a layout.
    #[error("the layout cannot be told in this form: {reason}")]
    Layout {
        /// The problem with it.
        reason: &'static str,
    },
    /// An error of `devarray`.
    #[error(transparent)]
    Array(#[from] devarray::Error),
}

/// [`std::result::Result`] with [`DoorError`] unless said otherwise.
pub type Result<T, E = DoorError> = std::result::Result<T, E>;

impl From<devarray::LayoutError> for DoorError {
    #[track_caller]
    fn from(error: devarray::LayoutError) -> Self {
        Self::Array(error.into())
    }
}

/// A field with an impossible value.
pub(crate) const fn field(field: &'static str, reason: &'static str) -> DoorError {
    DoorError::Field { field, reason }
}
