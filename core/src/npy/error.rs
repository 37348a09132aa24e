//! Mistakes in an array file.

use std::io;

use thiserror::Error;

use crate::layout::LayoutError;

/// Why an array file cannot be read or written. The message does not name the file, which its
/// opener knows.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The first bytes do not begin an array file.
    #[error("not a .npy file")]
    NotNpy,
    /// A version of the format that is not known.
    #[error("version {major}.{minor} of the .npy format is not known")]
    Version {
        /// First number.
        major: u8,
        /// Second number.
        minor: u8,
    },
    /// The file ends before the header does.
    #[error("the file ends inside its header")]
    TruncatedHeader,
    /// The header claims to be longer than any sensible one.
    #[error("a header of {len_bytes} bytes is longer than the {limit_bytes} allowed")]
    LongHeader {
        /// Bytes it claims.
        len_bytes: usize,
        /// Bytes allowed.
        limit_bytes: usize,
    },
    /// The header is no dictionary of the three expected entries.
    #[error("bad header: {0}")]
    Header(String),
    /// Elements are Python objects, which a file holds as a pickle.
    #[error("arrays of Python objects cannot be read")]
    Objects,
    /// An element type that is not known, or is none.
    #[error("unknown dtype {0}")]
    Dtype(String),
    /// The shape or the size is too large for addresses.
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
        /// Bytes the header promises.
        expected: usize,
        /// Bytes there are.
        found: usize,
    },
    /// The file goes on after its last element, and not with another array.
    #[error("the file goes on after its {expected} bytes of elements")]
    TooLong {
        /// Bytes the header promises.
        expected: usize,
    },
    /// The host has no room for the elements.
    #[error("no memory for {len_bytes} bytes of elements")]
    NoMemory {
        /// Bytes needed.
        len_bytes: usize,
    },
    /// The file holds elements of another type than was asked for.
    #[error("the file holds elements of dtype {found}, not {expected}")]
    OtherDtype {
        /// The type of the elements asked for.
        expected: String,
        /// The type that the file names.
        found: String,
    },
    /// An archive has no array of the name.
    #[error("the archive has no array {0:?}")]
    NoArray(String),
    /// The archive is no zip file, or one that cannot be read or written.
    #[error("bad archive: {0}")]
    Archive(String),
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The device, or the array, refused.
    #[error(transparent)]
    Device(#[from] crate::Error),
}

impl From<LayoutError> for NpyError {
    #[track_caller]
    fn from(error: LayoutError) -> Self {
        Self::Device(error.into())
    }
}
