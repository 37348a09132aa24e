#![doc = include_str!("../README.md")]

mod bincount;
mod call;
mod counts;
mod dense;
mod error;
mod execute;
mod extreme;
mod few;
mod group;
mod kind;
mod lanes;
mod nonzero;
mod places;
mod put;
mod quantile;
mod radix;
mod run;
mod search;
mod segments;
mod select;
mod slices;
mod sort;
mod sums;
mod unique;
mod word;
mod workers;

pub use call::{Call, Combining, Output};
#[doc(inline)]
pub use devarray_function::{Alone, Workers};
pub use error::{IndexFault, OrderError, OrderErrorKind, WrongIndex};
pub use execute::{Operand, Outcome, execute};
pub use slices::{
    Unique, argsort, bincount, bincount_weighted, histogram, median, nonzero, put, quantile, search_sorted,
    segments, sort, top_k, unique, unique_all,
};
