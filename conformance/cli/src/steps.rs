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

/// One layout operation, with the same meaning as in NumPy.
///
/// Numbers are as the user wrote them: the library decides whether an axis exists or an extent is
/// sensible.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Object<json::JsonStep>")]
#[non_exhaustive]
pub enum Step {
    /// Basic indexing.
    Index(Vec<IndexItem>),
    /// Transpose: the axes in this order, or in reverse order.
    Permute(Option<Vec<isize>>),
    /// Reverse along these axes, or along all.
    Flip(Option<Vec<isize>>),
    /// Remove these axes of extent 1, or all such axes.
    Squeeze(Option<Vec<isize>>),
    /// Broadcast to a shape.
    Broadcast(Vec<isize>),
    /// Another shape; one extent may be -1. Copies if there is no such view.
    Reshape(Vec<isize>, Order),
    /// One axis. Copies unless the elements are contiguous in the order.
    Ravel(Order),
    /// A dense copy in the order.
    Copy(Order),
    /// Split into parts, and take one.
    Split(Cut, isize),
}

/// The cuts of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// A 1-D array into parts of this many elements; the last one may be shorter.
    Every(isize),
    /// An axis into this many parts; the longer ones come first.
    Into {
        /// The axis that is cut.
        axis: isize,
        /// The number of parts.
        sections: isize,
    },
    /// An axis at given positions.
    At {
        /// The axis that is cut.
        axis: isize,
        /// The start of each part except the first; negative numbers count from the end.
        at: Vec<isize>,
    },
}
