//! The operands of a reduction, over axes that are kept and axes that are reduced.

use devarray::{
    backend::{Buffer, MapOp, Operand, ReduceForm, ReduceOp},
    function::{Combine, ElementType},
};

use crate::{
    function::problem::{Kind, Operands},
    memory::CudaBuffer,
};

/// An axis, with the distance in bytes from one step to the next for each operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) extent: u64,
    pub(super) strides: Vec<i64>,
}

/// Operands and axes of a reduction. The result is the first operand; in a total, its strides along
/// reduced axes are 0.
#[derive(Debug, Clone)]
pub(super) struct Space {
    pub(super) kinds: Vec<Kind>,
    /// Address of the first element of each operand.
    pub(super) bases: Vec<u64>,
    /// Axes that are kept: in any order that all passes share, outermost first.
    pub(super) kept: Vec<Axis>,
    /// Axes that are reduced: in row-major order, which decides the order of additions. A
    /// scan has one.
    pub(super) reduced: Vec<Axis>,
}

impl Space {
    pub(super) fn new(op: &ReduceOp<'_, CudaBuffer>) -> Option<Self> {
        let (rank, result) = (op.shape().len(), op.result());
        let is_total = op.form() == ReduceForm::Total;
        let kept = if is_total { result.layout().shape().len() } else { rank.saturating_sub(1) };
        let mut space = Self::of(op, kept, (result, op.work().finish.result_type()))?;
        if !is_total && space.reduced.is_empty() {
            space.reduced.push(Axis { extent: 1, strides: vec![0; space.operands()] });
        }
        Some(space)
    }

    /// The elements of a total, where the result is a function of each of them.
    pub(super) fn of_elements(op: &ReduceOp<'_, CudaBuffer>, last: &MapOp<'_, CudaBuffer>) -> Option<Self> {
        let kept = op.result().layout().shape().len();
        Self::of(op, kept, (last.result(), last.program().result_type()))
    }

    fn of(
        op: &ReduceOp<'_, CudaBuffer>,
        kept: usize,
        (result, result_type): (&Operand<'_, CudaBuffer>, ElementType),
    ) -> Option<Self> {
        let (shape, rank) = (op.shape(), op.shape().len());
        let Operands { kinds, bases, strides } = Operands::new(op.program(), result_type, rank, |input| {
            let operand = match input {
                None => result,
                Some(at) => op.inputs().get(at)?,
            };
            Some((operand.buffer().address(), operand.layout()))
        })?;
        let mut space = Self { kinds, bases, kept: Vec::new(), reduced: Vec::new() };
        for (axis, &extent) in shape.iter().enumerate().filter(|(_, extent)| **extent > 1) {
            let along = (0..space.operands()).map(|operand| strides[operand * rank + axis]).collect();
            let axis_of = if axis < kept { &mut space.kept } else { &mut space.reduced };
            axis_of.push(Axis { extent: extent as u64, strides: along });
        }
        let first = usize::from(space.kinds.len() > 1);
        let key = |axis: &Axis| (axis.strides[first].abs(), axis.strides[0].abs());
        space.kept.sort_by_key(|axis| std::cmp::Reverse(key(axis)));
        join(&mut space.kept);
        join(&mut space.reduced);
        Some(space)
    }

    /// Number of operands.
    pub(super) fn operands(&self) -> usize {
        self.kinds.len()
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.kept.iter().map(|axis| axis.extent).product()
    }

    /// Elements of a row.
    pub(super) fn row_len(&self) -> u64 {
        self.reduced.iter().map(|axis| axis.extent).product()
    }

    /// Both halves of the rows, if there is more than one.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        let longest = (0..self.kept.len()).max_by_key(|&axis| self.kept[axis].extent)?;
        let Axis { extent, strides } = &self.kept[longest];
        // A multiple of what any block takes at once, so that the second half is aligned as the
        // first is.
        let half = (extent / 2).next_multiple_of(1_024).min(extent - 1);
        let mut halves = [self.clone(), self.clone()];
        halves[0].kept[longest].extent = half;
        halves[1].kept[longest].extent = extent - half;
        for (base, stride) in halves[1].bases.iter_mut().zip(strides) {
            *base = base.wrapping_add_signed(stride.wrapping_mul(half.cast_signed()));
        }
        Some(halves)
    }

    /// Parts of rows, in memory of their own: operands behind the result. Each row has `each`
    /// parts.
    pub(super) fn of_parts(&self, operands: &[(Kind, u64)], each: u64) -> Self {
        let sizes: Vec<i64> = operands.iter().map(|(kind, _)| kind.len_bytes()).collect();
        let mut kept = self.kept.clone();
        let mut step = each.cast_signed();
        for axis in kept.iter_mut().rev() {
            axis.strides.truncate(1);
            axis.strides.extend(sizes.iter().map(|size| size * step));
            step *= axis.extent.cast_signed();
        }
        join(&mut kept);
        let strides = std::iter::once(0).chain(sizes).collect();
        let reduced = if each > 1 { vec![Axis { extent: each, strides }] } else { Vec::new() };
        let kinds = operands.iter().map(|(kind, _)| *kind);
        let bases = operands.iter().map(|(_, base)| *base);
        Self {
            kinds: std::iter::once(self.kinds[0]).chain(kinds).collect(),
            bases: std::iter::once(self.bases[0]).chain(bases).collect(),
            kept,
            reduced,
        }
    }

    /// Sorts the reduced axes by how near inputs are, where any order is right.
    pub(super) fn in_any_order(mut self) -> Self {
        let first = usize::from(self.kinds.len() > 1);
        self.reduced.sort_by_key(|axis| std::cmp::Reverse(axis.strides[first].abs()));
        join(&mut self.reduced);
        self
    }

    /// Makes each line along the innermost reduced axis a row, if such lines are whole segments.
    /// What lies side by side along another axis is then in neighbouring rows.
    pub(super) fn turned(&self) -> Option<Self> {
        let (inner, outer) = self.reduced.split_last()?;
        if outer.is_empty() || !inner.extent.is_multiple_of(Combine::SEGMENT as u64) {
            return None;
        }
        let mut turned = self.clone();
        turned.kept.extend_from_slice(outer);
        turned.reduced = vec![inner.clone()];
        Some(turned)
    }

    /// Takes out the operand of an input.
    pub(super) fn without(mut self, input: u8) -> Self {
        for operand in (0..self.operands()).rev() {
            if matches!(self.kinds[operand], Kind::Input(at, _) | Kind::InPlace(at, _) if at == input) {
                self.kinds.remove(operand);
                self.bases.remove(operand);
                for axis in self.kept.iter_mut().chain(&mut self.reduced) {
                    axis.strides.remove(operand);
                }
            }
        }
        join(&mut self.kept);
        join(&mut self.reduced);
        self
    }

    /// Cuts rows of parts into rows of `len` parts. The reduced axis is a multiple of `len`.
    pub(super) fn cut(mut self, len: u64) -> Self {
        if let Some(axis) = self.reduced.last_mut().filter(|axis| axis.extent > len) {
            let strides = axis.strides.iter().map(|stride| stride * len.cast_signed()).collect();
            self.kept.push(Axis { extent: axis.extent / len, strides });
            axis.extent = len;
        }
        self
    }
}

/// Merges neighbouring axes along which all operands advance evenly.
fn join(axes: &mut Vec<Axis>) {
    for at in (1..axes.len()).rev() {
        let extent = axes[at].extent.cast_signed();
        let even = |(&outer, &inner): (&i64, &i64)| inner.checked_mul(extent) == Some(outer);
        if axes[at - 1].strides.iter().zip(&axes[at].strides).all(even) {
            let inner = axes.remove(at);
            axes[at - 1].extent *= inner.extent;
            axes[at - 1].strides = inner.strides;
        }
    }
}

/// Segments of a row.
pub(super) fn segments(space: &Space) -> u64 {
    space.row_len().div_ceil(Combine::SEGMENT as u64)
}

/// Registers of 4 bytes that some elements of each input take, together.
pub(super) fn registers(space: &Space, count: u64) -> u64 {
    let types = space.kinds.iter().skip(1).filter_map(|kind| kind.element_type());
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

    fn axis(extent: u64, strides: [i64; 2]) -> Axis {
        Axis { extent, strides: strides.to_vec() }
    }

    #[test]
    fn axes_are_one_where_every_operand_goes_on() {
        for (axes, joined) in [
            (vec![], vec![]),
            (vec![axis(2, [12, 24]), axis(3, [4, 8])], vec![axis(6, [4, 8])]),
            (vec![axis(2, [12, 0]), axis(3, [4, 0])], vec![axis(6, [4, 0])]),
            (vec![axis(5, [24, -24]), axis(2, [12, -12]), axis(3, [4, -4])], vec![axis(30, [4, -4])]),
            // One operand alone does not.
            (vec![axis(2, [12, 25]), axis(3, [4, 8])], vec![axis(2, [12, 25]), axis(3, [4, 8])]),
            (vec![axis(2, [11, 24]), axis(3, [4, 8])], vec![axis(2, [11, 24]), axis(3, [4, 8])]),
            // Some axes, not all.
            (
                vec![axis(5, [1, 1]), axis(2, [12, 12]), axis(3, [4, 4])],
                vec![axis(5, [1, 1]), axis(6, [4, 4])],
            ),
            (
                vec![axis(5, [24, 24]), axis(2, [12, 12]), axis(3, [1, 1])],
                vec![axis(10, [12, 12]), axis(3, [1, 1])],
            ),
            // A product beyond all numbers is no stride.
            (vec![axis(2, [0; 2]), axis(4, [1 << 62; 2])], vec![axis(2, [0; 2]), axis(4, [1 << 62; 2])]),
        ] {
            let mut found = axes.clone();
            join(&mut found);
            assert_eq!(found, joined, "{axes:?}");
        }
    }

    /// Axes that are reduced are sorted by how near inputs are, then joined.
    #[test]
    fn order_is_given_up_where_any_is_right() {
        let space = Space {
            kinds: vec![Kind::Result(ElementType::F32), Kind::Input(0, ElementType::F32)],
            bases: vec![0; 2],
            kept: Vec::new(),
            reduced: vec![axis(3, [0, 4]), axis(7, [0, -24]), axis(2, [0, 12])],
        };
        let sorted = space.in_any_order().reduced;
        assert_eq!(sorted, [axis(7, [0, -24]), axis(6, [0, 4])]);
    }
}
