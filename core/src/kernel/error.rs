//! Why a kernel is not launched.

use std::fmt;

use thiserror::Error;

use super::ArgumentKind;

/// A kernel was not launched, and nothing was enqueued.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The declaration has no image for this backend.
    #[error("the declaration has no image for this device")]
    NoImage,
    /// The driver refused the image.
    #[error("the driver refused the image: {log}")]
    Image {
        /// The driver's message, its compiler's log first.
        log: String,
    },
    /// The image has no entry with the declared name.
    #[error("the image has no entry `{entry}`")]
    NoEntry {
        /// The name.
        entry: &'static str,
    },
    /// The entry takes more or fewer parameters than are declared.
    #[error("the entry takes {found} parameters, the declaration gives {declared}")]
    ParameterCount {
        /// The number of parameters that the declaration passes.
        declared: usize,
        /// The number of parameters that the image takes.
        found: usize,
    },
    /// A parameter of the entry has another size than declared.
    #[error(
        "parameter {index} of the entry has {found_bytes} bytes, argument `{argument}` gives {declared_bytes}"
    )]
    ParameterSize {
        /// The number of the parameter, from 0.
        index: usize,
        /// The argument that is passed there.
        argument: &'static str,
        /// The size that is passed.
        declared_bytes: usize,
        /// The size that the image takes.
        found_bytes: usize,
    },
    /// The image lacks a table in constant memory, or has it in another size.
    #[error(
        "the table `{name}` has {declared_bytes} bytes, and in the image {}",
        Found(*found_bytes)
    )]
    Constant {
        /// The name of the variable.
        name: &'static str,
        /// Bytes of the declared table.
        declared_bytes: usize,
        /// The size of the image's table; `None` if there is none of this name.
        found_bytes: Option<usize>,
    },
    /// The launch asks for more than the device, or the kernel, allows; or for nothing at all.
    #[error("{requested} {what}: {}", Allowed(*requested, *most))]
    Limit {
        /// The quantity that is limited.
        what: &'static str,
        /// The number that the declaration asks for.
        requested: u64,
        /// The most that is allowed.
        most: u64,
    },
    /// The type of an argument means one thing where it is declared, and another where it is given.
    #[error(
        "argument `{argument}` is declared as {declared:?}, and was given as {given:?}: its type must not \
         depend on names that `kernel!` makes, nor on a macro that expands in two ways"
    )]
    Declaration {
        /// Its name.
        argument: &'static str,
        /// The declared kind.
        declared: Box<ArgumentKind>,
        /// The given kind.
        given: Box<ArgumentKind>,
    },
    /// An argument that must be C-contiguous is not.
    #[error("argument `{argument}` must be C-contiguous: `to_contiguous(&stream, Order::C)` makes it so")]
    NotContiguous {
        /// Its name.
        argument: &'static str,
    },
    /// An argument has another number of axes than declared.
    #[error("argument `{argument}` must have {expected} axes, and has {found}")]
    Rank {
        /// Its name.
        argument: &'static str,
        /// Axes declared.
        expected: usize,
        /// Axes given.
        found: usize,
    },
    /// An argument has another number of elements than the kernel needs.
    #[error("argument `{argument}` must have {expected} elements, and has {found}")]
    Length {
        /// Its name.
        argument: &'static str,
        /// Elements that are needed.
        expected: usize,
        /// Elements given.
        found: usize,
    },
    /// An argument has another shape than one that it must match.
    #[error("argument `{argument}` must have the shape of `{other}`, {expected:?}, and has {found:?}")]
    Shape {
        /// Its name.
        argument: &'static str,
        /// The argument that it must match.
        other: &'static str,
        /// The shape of that argument.
        expected: Box<[usize]>,
        /// Its own shape.
        found: Box<[usize]>,
    },
    /// The kernel's own reason, by [`ensure`](super::ensure).
    #[error("{reason}")]
    Refused {
        /// The mistake.
        reason: String,
    },
    /// An argument that is written reaches, or may reach, one element by two indices.
    #[error("argument `{argument}` is written, and reaches one element by two indices")]
    Aliased {
        /// Its name.
        argument: &'static str,
    },
    /// An argument that is written shares memory with another.
    #[error("argument `{argument}` is written, and shares memory with argument `{other}`")]
    Overlap {
        /// The one that is written.
        argument: &'static str,
        /// The other one.
        other: &'static str,
    },
}

struct Found(Option<usize>);

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(len_bytes) => write!(f, "{len_bytes}"),
            None => f.write_str("there is none of this name"),
        }
    }
}

struct Allowed(u64, u64);

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(requested, most) = *self;
        if requested == 0 { f.write_str("at least 1") } else { write!(f, "at most {most}") }
    }
}
