//! Layout operations as data, written as JSON in golden cases and as text on the command line.

mod apply;
mod check;
mod index_text;
mod json;
mod suggest;
mod text;

use devarray::{Order, layout::IndexItem};
use serde::Deserialize;

use crate::object::Object;

pub use apply::{StepError, apply, apply_to_write};
pub use check::check;
pub use text::{StepsError, parse_steps};

/// One layout operation, meaning what NumPy means by it.
///
/// Numbers are as the user wrote them: whether an axis exists or an extent is sensible is for the
/// library to say.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Object<json::JsonStep>")]
#[non_exhaustive]
pub enum Step {
    /// Basic indexing.
    Index(Vec<IndexItem>),
    /// Transpose: the axes in this order, or in the reverse of theirs.
    Permute(Option<Vec<isize>>),
    /// Reverse along each axis: these, or all.
    Flip(Option<Vec<isize>>),
    /// Drop axes of extent 1: these, or all.
    Squeeze(Option<Vec<isize>>),
    /// Repeat to a shape.
    Broadcast(Vec<isize>),
    /// Another shape; one extent may be -1. Copies where no view exists.
    Reshape(Vec<isize>, Order),
    /// One axis. Copies unless already contiguous in the order.
    Ravel(Order),
    /// A dense copy in the order.
    Copy(Order),
    /// Cut into parts and take one.
    Split(Cut, isize),
}

/// The cuts of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// A 1-D array into parts of this many elements, the last maybe shorter.
    Every(isize),
    /// An axis into this many parts, the longer ones first.
    Into {
        /// The axis cut.
        axis: isize,
        /// Number of parts.
        sections: isize,
    },
    /// An axis at positions.
    At {
        /// The axis cut.
        axis: isize,
        /// The start of each part but the first; negative counts from the end.
        at: Vec<isize>,
    },
}
