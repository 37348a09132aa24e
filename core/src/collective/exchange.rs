//! The ways of elements between ranks, and their combinations.

use std::{fmt, sync::Arc};

use super::RowCounts;
use crate::function::{ElementType, Function, FunctionError, primitive::Program};

/// The combination of the elements of all ranks.
///
/// Ranks are combined in rising order, from rank 0: a sum of floats is `((x0 + x1) + x2) + …`. So it has
/// one value, to the bit, on the host and on the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Combination {
    /// Added, as the function `a + b` adds: integers wrap.
    Sum,
    /// Multiplied, as `a * b`: integers wrap.
    Product,
    /// The least, as `minimum(a, b)`: NaN if one is.
    Minimum,
    /// The greatest, as `maximum(a, b)`: NaN if one is.
    Maximum,
    /// The sum, divided by the number of ranks, for floats alone.
    Mean,
}

impl Combination {
    /// Its name, as messages show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Minimum => "minimum",
            Self::Maximum => "maximum",
            Self::Mean => "mean",
        }
    }

    /// Whether it combines elements of this type.
    #[must_use]
    pub const fn takes(self, element_type: ElementType) -> bool {
        use ElementType::{BF16, F16, F32, F64};
        !matches!(self, Self::Mean) || matches!(element_type, F16 | BF16 | F32 | F64)
    }

    /// The functions that carry it out.
    fn of(self, element_type: ElementType, ranks: usize) -> Result<Combining, FunctionError> {
        let text = match self {
            Self::Sum | Self::Mean => "x0 + x1",
            Self::Product => "x0 * x1",
            Self::Minimum => "minimum(x0, x1)",
            Self::Maximum => "maximum(x0, x1)",
        };
        let program = Function::parse(text, &[element_type; 2], &[])?.program().clone();
        let finish = match self {
            Self::Mean => {
                Some(Function::parse(&format!("x0 / {ranks}"), &[element_type], &[])?.program().clone())
            }
            _ => None,
        };
        Ok(Combining { combination: self, program, finish })
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A combination, with the functions that carry it out.
pub struct Combining {
    combination: Combination,
    program: Program,
    finish: Option<Program>,
}

impl Combining {
    /// The name of it.
    #[must_use]
    pub fn combination(&self) -> Combination {
        self.combination
    }

    /// The function of two elements. Ranks are combined in rising order: `f(f(x0, x1), x2)`.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The function of the outcome that is the result; none if that is the outcome itself.
    #[must_use]
    pub fn finish(&self) -> Option<&Program> {
        self.finish.as_ref()
    }
}

impl fmt::Debug for Combining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Combining({})", self.combination)
    }
}

/// The combinations that a communicator has carried out, so that their functions are built once.
#[derive(Default)]
pub(super) struct Combinings(Vec<(ElementType, Arc<Combining>)>);

impl Combinings {
    pub(super) fn of(
        &mut self,
        combination: Combination,
        of: ElementType,
        ranks: usize,
    ) -> Result<Arc<Combining>, FunctionError> {
        let is_it =
            |(known, with): &&(ElementType, Arc<Combining>)| (*known, with.combination) == (of, combination);
        if let Some((_, known)) = self.0.iter().find(is_it) {
            return Ok(Arc::clone(known));
        }
        let new = Arc::new(combination.of(of, ranks)?);
        self.0.push((of, Arc::clone(&new)));
        Ok(new)
    }
}

/// The ways of elements between ranks.
///
/// A source or result has one part of [`count`](crate::backend::CollectOp::count) elements, or one for
/// each rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a backend knows them all")]
pub enum Exchange {
    /// All parts combined, to all.
    AllReduce,
    /// All parts combined, to the root.
    Reduce {
        /// The rank that has a result.
        root: usize,
    },
    /// The root's part, to all others. The root has no result, and others have no source.
    Broadcast {
        /// The rank that has a source.
        root: usize,
    },
    /// Each rank's part, to all, in the order of ranks.
    AllGather,
    /// The parts of all for a rank combined, to that rank.
    ReduceScatter,
    /// Each rank's part for another, to that other, in the order of ranks.
    AllToAll,
    /// Each rank's part for another, to that other. Parts differ in their [numbers of
    /// rows](crate::backend::CollectOp::counts).
    AllToAllCounted,
    /// One rank's part, to one other.
    Transfer {
        /// The rank that has a source.
        from: usize,
        /// The rank that has a result.
        to: usize,
    },
}

/// One part of a result: where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a part of a result is this and no more")]
pub struct Piece {
    /// The part of the result.
    pub result_part: usize,
    /// The rank that it comes from; none if it is combined from all.
    pub from: Option<usize>,
    /// The part of the source, or of each source.
    pub source_part: usize,
}

impl Exchange {
    /// Parts of a source.
    #[must_use]
    pub const fn source_parts(self, ranks: usize) -> usize {
        if matches!(self, Self::ReduceScatter | Self::AllToAll | Self::AllToAllCounted) { ranks } else { 1 }
    }

    /// Parts of a result.
    #[must_use]
    pub const fn result_parts(self, ranks: usize) -> usize {
        if matches!(self, Self::AllGather | Self::AllToAll | Self::AllToAllCounted) { ranks } else { 1 }
    }

    /// Where the result of a rank comes from, part by part.
    pub fn pieces(self, rank: usize, ranks: usize) -> impl Iterator<Item = Piece> {
        let each = move |from: usize| match self {
            Self::AllReduce => Piece { result_part: 0, from: None, source_part: 0 },
            Self::Reduce { .. } => Piece { result_part: 0, from: None, source_part: 0 },
            Self::ReduceScatter => Piece { result_part: 0, from: None, source_part: rank },
            Self::Broadcast { root } => Piece { result_part: 0, from: Some(root), source_part: 0 },
            Self::Transfer { from, .. } => Piece { result_part: 0, from: Some(from), source_part: 0 },
            Self::AllGather => Piece { result_part: from, from: Some(from), source_part: 0 },
            Self::AllToAll | Self::AllToAllCounted => {
                Piece { result_part: from, from: Some(from), source_part: rank }
            }
        };
        let count = match self {
            Self::Reduce { root } if root != rank => 0,
            Self::Broadcast { root } if root == rank => 0,
            Self::Transfer { to, .. } if to != rank => 0,
            _ => self.result_parts(ranks),
        };
        (0..count).map(each)
    }
}

/// The part of one rank in an exchange, whose elements are an `E`.
pub(crate) struct Exchanged<E> {
    pub(crate) operation: &'static str,
    pub(crate) exchange: Exchange,
    /// The root, or the rank that it sends to or receives from.
    pub(crate) peer: Option<usize>,
    pub(crate) combination: Option<(Combination, ElementType)>,
    pub(crate) element_type: &'static str,
    /// Elements of one part; of one row, if rows are counted.
    pub(crate) count: usize,
    pub(crate) counts: Option<RowCounts>,
    /// None if the rank only receives.
    pub(crate) source: Option<E>,
    /// None if the rank only sends.
    pub(crate) result: Option<E>,
    /// Whether the source is the result, or one of its parts, or the other way round. Both are given as the larger
    /// of the two then.
    pub(crate) in_place: bool,
}

impl<E> Exchanged<E> {
    /// The elements of both sides, the source first.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &E> {
        self.source.iter().chain(&self.result)
    }

    /// This exchange, with other elements.
    pub(crate) fn of<F>(&self, source: Option<F>, result: Option<F>) -> Exchanged<F> {
        let Self { operation, exchange, peer, combination, element_type, count, in_place, .. } = *self;
        let counts = self.counts.clone();
        Exchanged {
            operation,
            exchange,
            peer,
            combination,
            element_type,
            count,
            counts,
            source,
            result,
            in_place,
        }
    }
}
