//! Random programs over the safe interface, reduced by proptest, for backends; and their strategies, for
//! property tests of libraries.
//!
//! A [`Program`] is a list of operations as data. It runs on any device, next to a naive model that keeps a
//! list of elements for each array and changes it call by call. Every list of operations is a program, so a
//! program stays one if operations are left out. Reads give the elements of the model, under all streams,
//! schedules and devices.
//!
//! ```
//! use devarray_conformance::{Harness, programs::{Item, Op, Program, Search, Start, Transform::Whole, part}};
//! use devarray_mock::MockDevice;
//!
//! let harness = Harness::new(|| Ok::<_, devarray::Error>(MockDevice::new())).with_cases(20);
//! let program = Program::new(Item::U32, 2, &[
//!     Op::Create { stream: 0, extents: [4, 3, 1], rank: 2, start: Start::Uploaded, value: 7 },
//!     Op::Fill { stream: 1, to: part(0, [Whole, Whole]), value: 1 },
//!     Op::Download { stream: 0, from: part(0, [Whole, Whole]) },
//! ]);
//! program.check(&harness)?;
//!
//! // As many programs as the harness has cases, drawn from its seed; the first that fails is made small.
//! Search::new().run(&harness)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![doc = include_str!("../PROGRAMS.md")]

mod arrays;
mod drawn;
mod elements;
mod extras;
mod failure;
mod functions;
mod gathers;
mod held;
mod host;
mod kernels;
mod machine;
mod op;
mod orders;
mod part;
mod products;
pub mod raw;
mod recorded;
mod search;
mod shown;
mod strategies;

pub use drawn::Drawn;
pub use extras::Extras;
pub use failure::Failure;
pub use op::{Away, Combined, End, Formula, Item, Op, Ordered, Part, Program, Start, Transform, part};
pub use search::{Found, MOST_OPS, Search};
pub use strategies::{element_bits, floats, ops, parts, patterns, programs, shapes, transforms};
