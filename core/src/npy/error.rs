//! Mistakes in an array file.

use std::io;

use thiserror::Error;

use crate::layout::LayoutError;

/// An array file cannot be read or written. The message does not name the file, because whoever
/// opened it knows the name.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The first bytes do not begin an array file.
    #[error("not a .npy file")]
    NotNpy,
    /// The version of the format is unknown.
    #[error("version {major}.{minor} of the .npy format is not known")]
    Version {
        /// The major number.
        major: u8,
        /// The minor number.
        minor: u8,
    },
    /// The file ends before the header does.
    #[error("the file ends inside its header")]
    TruncatedHeader,
    /// The header claims to be longer than any sensible header.
    #[error("a header of {len_bytes} bytes is longer than the {limit_bytes} allowed")]
    LongHeader {
        /// The length that it claims.
        len_bytes: usize,
        /// The greatest length that is allowed.
        limit_bytes: usize,
    },
    /// The header is not a dictionary of the three expected entries.
    #[error("bad header: {0}")]
    Header(String),
    /// Elements are Python objects, which a file holds as a pickle.
    #[error("arrays of Python objects cannot be read")]
    Objects,
    /// The element type is unknown, or not a type.
    #[error("unknown dtype {0}")]
    Dtype(String),
    /// The shape or the size is too large for this machine's addresses.
    #[error("shape {shape:?} of {item_bytes}-byte elements is too large")]
    TooLarge {
        /// Extents.
        shape: Vec<usize>,
        /// Bytes of one element.
        item_bytes: usize,
    },
    /// The file ends before its last element.
    #[error("the file ends after {found} of {expected} bytes of elements")]
    Truncated {
        /// The size that the header promises.
        expected: usize,
        /// The size of the data that is there.
        found: usize,
    },
    /// After the last element the file continues, but not with another array.
    #[error("the file goes on after its {expected} bytes of elements")]
    TooLong {
        /// The size that the header promises.
        expected: usize,
    },
    /// The host has no room for the elements.
    #[error("no memory for {len_bytes} bytes of elements")]
    NoMemory {
        /// The bytes that are needed.
        len_bytes: usize,
    },
    /// The file holds elements of another type than the caller asked for.
    #[error("the file holds elements of dtype {found}, not {expected}")]
    OtherDtype {
        /// The type that the caller asked for.
        expected: String,
        /// The type that the file names.
        found: String,
    },
    /// The archive has no array of this name.
    #[error("the archive has no array {0:?}")]
    NoArray(String),
    /// The archive is not a zip file, or cannot be read or written.
    #[error("bad archive: {0}")]
    Archive(String),
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The device reported an error, or the array does not fit.
    #[error(transparent)]
    Device(#[from] crate::Error),
}

impl From<LayoutError> for NpyError {
    #[track_caller]
    fn from(error: LayoutError) -> Self {
        Self::Device(error.into())
    }
}
