//! The operands of a reduction, over kept axes and reduced axes.

use std::iter::once;

use devarray::{
    backend::{Buffer, MapOp, Operand, ReduceForm, ReduceOp},
    function::{Combine, ElementType},
    layout::nest::{Loop, Nest, Strided},
};

use super::sizes::small;
use crate::{
    function::operands::{Kind, MapOperands, advance, axis},
    memory::CudaBuffer,
};

/// Operands and axes of a reduction. The result is the first operand; in a total, its strides along
/// reduced axes are 0.
#[derive(Debug, Clone)]
pub(super) struct ReduceOperands {
    pub(super) kinds: Vec<Kind>,
    /// Address of the first element of each operand.
    pub(super) bases: Vec<u64>,
    /// Kept axes, outermost first, in an order that all passes share.
    pub(super) kept: Nest<Strided>,
    /// Reduced axes, in row-major order, which determines the order of additions. A scan has one.
    pub(super) reduced: Nest<Strided>,
}

impl ReduceOperands {
    pub(super) fn new(op: &ReduceOp<'_, CudaBuffer>) -> Option<Self> {
        let (rank, result) = (op.shape().len(), op.result());
        let is_total = op.form() == ReduceForm::Total;
        let kept = if is_total { result.layout().shape().len() } else { rank.saturating_sub(1) };
        let mut operands = Self::of(op, kept, (result, op.work().finish.result_type()))?;
        if !is_total && operands.reduced.is_empty() {
            let strides = vec![0; operands.count()].into();
            operands.reduced.push(Strided { extent: 1, strides });
        }
        Some(operands)
    }

    /// The elements of a total, if the result is a function of each of them.
    pub(super) fn of_elements(op: &ReduceOp<'_, CudaBuffer>, last: &MapOp<'_, CudaBuffer>) -> Option<Self> {
        let kept = op.result().layout().shape().len();
        Self::of(op, kept, (last.result(), last.program().result_type()))
    }

    fn of(
        op: &ReduceOp<'_, CudaBuffer>,
        kept: usize,
        (result, result_type): (&Operand<'_, CudaBuffer>, ElementType),
    ) -> Option<Self> {
        let MapOperands { kinds, bases, axes } =
            MapOperands::over(op.program(), result_type, op.shape(), |input| {
                let operand = match input {
                    None => result,
                    Some(at) => op.inputs().get(at)?,
                };
                Some((operand.buffer().address(), operand.layout()))
            })?;
        let (kept, reduced) = axes.split_at(kept);
        let [kept, reduced] =
            [kept, reduced].map(|axes| axes.iter().filter(|axis| axis.extent > 1).cloned().collect());
        let mut operands = Self { kinds, bases, kept, reduced };
        let first = usize::from(operands.count() > 1);
        operands.kept.sort(|axis| [first, 0].map(|operand| axis.strides[operand].abs()));
        operands.kept.merge();
        operands.reduced.merge();
        Some(operands)
    }

    /// Number of operands.
    pub(super) fn count(&self) -> usize {
        self.kinds.len()
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.kept.steps() as u64
    }

    /// Elements of a row.
    pub(super) fn row_len(&self) -> u64 {
        self.reduced.steps() as u64
    }

    /// Both halves of the rows, if there is more than one.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        // The first half ends at a multiple of 1,024 rows: no block takes more at once, so both halves
        // have the same alignment.
        let (halves, distance) = self.kept.halves(self.kept.longest()?, 1_024);
        let mut halves = halves.map(|kept| Self { kept, ..self.clone() });
        advance(&mut halves[1].bases, &distance);
        Some(halves)
    }

    /// Partials of rows, in separate memory. They are the operands after the result. Each row has
    /// `each` partials.
    pub(super) fn of_partials(&self, operands: &[(Kind, u64)], each: u64) -> Self {
        let sizes: Vec<i64> = operands.iter().map(|(kind, _)| kind.len_bytes()).collect();
        let mut kept = self.kept.clone();
        let mut step = each.cast_signed();
        for along in kept.iter_mut().rev() {
            let (extent, result) = (along.extent as u64, along.strides[0] as i64);
            *along = axis(extent, once(result).chain(sizes.iter().map(|size| size * step)));
            step *= extent.cast_signed();
        }
        kept.merge();
        let reduced = (each > 1).then(|| axis(each, once(0).chain(sizes))).into_iter().collect();
        let kinds = operands.iter().map(|(kind, _)| *kind);
        let bases = operands.iter().map(|(_, base)| *base);
        Self {
            kinds: once(self.kinds[0]).chain(kinds).collect(),
            bases: once(self.bases[0]).chain(bases).collect(),
            kept,
            reduced,
        }
    }

    /// Sorts the reduced axes by the input's stride, largest first, for operations whose result does not
    /// depend on the order.
    pub(super) fn in_any_order(mut self) -> Self {
        let first = usize::from(self.kinds.len() > 1);
        self.reduced.sort(|axis| axis.strides[first].abs());
        self.reduced.merge();
        self
    }

    /// Makes each line along the innermost reduced axis a row, if such lines are whole segments.
    /// Elements side by side along another axis are then in neighbouring rows.
    pub(super) fn inner_lines(&self) -> Option<Self> {
        let (inner, outer) = self.reduced.split_last()?;
        if outer.is_empty() || !inner.extent.is_multiple_of(Combine::SEGMENT) {
            return None;
        }
        let mut lines = self.clone();
        lines.kept.extend(outer.iter().cloned());
        lines.reduced = [inner.clone()].into_iter().collect();
        Some(lines)
    }

    /// Takes out the operand of an input.
    pub(super) fn without(mut self, input: u8) -> Self {
        for operand in (0..self.count()).rev() {
            if matches!(self.kinds[operand], Kind::Input(at, _) | Kind::InPlace(at, _) if at == input) {
                self.kinds.remove(operand);
                self.bases.remove(operand);
                for axis in self.kept.iter_mut().chain(self.reduced.iter_mut()) {
                    axis.strides.remove(operand);
                }
            }
        }
        self.kept.merge();
        self.reduced.merge();
        self
    }

    /// Cuts rows of partials into rows of `len` partials. The reduced axis is a multiple of `len`.
    pub(super) fn cut(mut self, len: u64) -> Self {
        let len = small(len);
        if let Some(axis) = self.reduced.last_mut().filter(|axis| axis.extent > len) {
            let mut rows = axis.every(len);
            rows.extent /= len;
            self.kept.push(rows);
            axis.extent = len;
        }
        self
    }
}

/// Segments of a row.
pub(super) fn segments(operands: &ReduceOperands) -> u64 {
    operands.row_len().div_ceil(Combine::SEGMENT as u64)
}

/// The number of 4-byte registers that `count` elements of every input need together.
pub(super) fn registers(operands: &ReduceOperands, count: u64) -> u64 {
    let types = operands.kinds.iter().skip(1).filter_map(|kind| kind.element_type());
    types.map(|of| (count * of.len_bytes() as u64).div_ceil(4)).sum::<u64>().max(1)
}

/// Whether operands are the same elements.
pub(super) fn are_same(a: &[Operand<'_, CudaBuffer>], b: &[Operand<'_, CudaBuffer>]) -> bool {
    let same = |(a, b): (&Operand<'_, CudaBuffer>, &Operand<'_, CudaBuffer>)| {
        a.buffer().address() == b.buffer().address() && a.layout() == b.layout()
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reduced axes are sorted by the input's stride, largest first, then merged.
    #[test]
    fn order_is_given_up_where_any_is_right() {
        let axis = |extent, strides: [i64; 2]| axis(extent, strides);
        let operands = ReduceOperands {
            kinds: vec![Kind::Result(ElementType::F32), Kind::Input(0, ElementType::F32)],
            bases: vec![0; 2],
            kept: Nest::default(),
            reduced: [axis(3, [0, 4]), axis(7, [0, -24]), axis(2, [0, 12])].into_iter().collect(),
        };
        let sorted = operands.in_any_order().reduced;
        assert_eq!(sorted.as_slice(), [axis(7, [0, -24]), axis(6, [0, 4])]);
    }
}
