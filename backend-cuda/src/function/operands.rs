//! Reduces a function's operands to as few axes as possible, in bytes.

use devarray::{
    Layout,
    function::{
        ElementType,
        primitive::{Instruction, Program},
    },
    layout::nest::{Loop, Nest, Strided, Strides},
};

use super::text::MAX_WORDS;

/// The most elements that one launch computes, so that 32 bits can count elements and threads.
const LAUNCH_ELEMENTS: u64 = 1 << 30;

/// Room in a parameter for words that do not belong to operands and axes. No family has more.
const OTHER_WORDS: usize = 16;

/// Bytes of the widest access.
pub(super) const ACCESS_BYTES: u64 = 16;

/// The kind of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// The result's elements; always the first operand.
    Result(ElementType),
    /// An input's elements, by the number of the input.
    Input(u8, ElementType),
    /// An input's elements, which are the result's own.
    InPlace(u8, ElementType),
    /// The position along an axis. It has an "address" that counts, and nothing is loaded from it.
    Position(u8),
}

impl Kind {
    pub(super) fn element_type(self) -> Option<ElementType> {
        match self {
            Self::Result(element_type) | Self::Input(_, element_type) | Self::InPlace(_, element_type) => {
                Some(element_type)
            }
            Self::Position(_) => None,
        }
    }

    /// Bytes of an element; 1 for a position.
    pub(super) fn len_bytes(self) -> i64 {
        self.element_type().map_or(1, |element_type| element_type.len_bytes().cast_signed() as i64)
    }

    /// The state space of its accesses. Memory that nobody writes during a launch may be read
    /// through the cache that does not see writes.
    pub(super) fn space(self) -> &'static str {
        if matches!(self, Self::Input(..)) { "global.nc" } else { "global" }
    }

    /// Whether an instruction reads it.
    pub(super) fn is_read_by(self, instruction: Instruction) -> bool {
        match (self, instruction) {
            (Self::Input(at, _) | Self::InPlace(at, _), Instruction::Input(wanted))
            | (Self::Position(at), Instruction::Position(wanted)) => at == wanted,
            _ => false,
        }
    }
}

/// A function's operands over common axes: the result, then inputs, then positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MapOperands {
    pub(super) kinds: Vec<Kind>,
    /// Address of the first element of each operand.
    pub(super) bases: Vec<u64>,
    /// Strides in bytes, for each operand.
    pub(super) axes: Nest<Strided>,
}

impl MapOperands {
    /// Makes operands over all axes of a shape. `operand` gives the buffer's address and the layout
    /// of an input, or of the result for `None`. A layout with fewer axes has the first ones.
    pub(super) fn over<'a>(
        program: &Program,
        result_type: ElementType,
        shape: &[usize],
        operand: impl Fn(Option<usize>) -> Option<(u64, &'a Layout)>,
    ) -> Option<Self> {
        let axes = shape.iter().map(|&extent| Strided { extent, strides: Strides::new() });
        let (kinds, bases) = (Vec::with_capacity(4), Vec::with_capacity(4));
        let mut all = Self { kinds, bases, axes: axes.collect() };
        let mut add = |kind: Kind, (address, layout): (u64, &Layout)| {
            let size = kind.element_type().map_or(1, ElementType::len_bytes);
            all.kinds.push(kind);
            all.bases.push(address + layout.offset() as u64 * size as u64);
            let strides = layout.strides().iter().map(|stride| stride.wrapping_mul(size.cast_signed()));
            let strides = strides.chain(std::iter::repeat(0));
            all.axes.iter_mut().zip(strides).for_each(|(axis, stride)| axis.strides.push(stride));
        };
        add(Kind::Result(result_type), operand(None)?);
        for &instruction in program.instructions() {
            if let Instruction::Input(at) = instruction {
                let kind = Kind::Input(at, *program.inputs().get(usize::from(at))?);
                add(kind, operand(Some(usize::from(at)))?);
            }
        }
        // An input that shares a byte with the result has the result's layout, so it begins where
        // the result begins.
        for (kind, base) in all.kinds.iter_mut().zip(&all.bases) {
            if let Kind::Input(at, element_type) = *kind
                && *base == all.bases[0]
            {
                *kind = Kind::InPlace(at, element_type);
            }
        }
        for &instruction in program.instructions() {
            if let Instruction::Position(along) = instruction {
                all.kinds.push(Kind::Position(along));
                all.bases.push(0);
                for (at, axis) in all.axes.iter_mut().enumerate() {
                    axis.strides.push(isize::from(at == usize::from(along)));
                }
            }
        }
        Some(all)
    }

    /// Makes the operands of a function over as few axes as possible. Their layouts have one shape,
    /// which is not empty. The result goes upwards along each axis, its largest strides first.
    /// `operand` gives the buffer's address and the layout of an input, or of the result for
    /// `None`.
    pub(super) fn new<'a>(
        program: &Program,
        operand: impl Fn(Option<usize>) -> Option<(u64, &'a Layout)>,
    ) -> Option<Self> {
        let shape = operand(None)?.1.shape();
        let mut operands = Self::over(program, program.result_type(), shape, operand)?;
        operands.axes.drop_units();
        operands.axes.forward(0, |reach| advance(&mut operands.bases, reach));
        operands.axes.sort(|axis| axis.strides[0]);
        operands.axes.merge();
        Some(operands)
    }

    /// Leaves an input out.
    pub(super) fn remove_input(&mut self, input: u8) {
        if let Some(at) = self.kinds.iter().position(|kind| kind.is_read_by(Instruction::Input(input))) {
            self.kinds.remove(at);
            self.bases.remove(at);
            for axis in self.axes.iter_mut() {
                axis.strides.remove(at);
            }
        }
    }

    /// Number of operands.
    pub(super) fn count(&self) -> usize {
        self.kinds.len()
    }

    pub(super) fn rank(&self) -> usize {
        self.axes.len()
    }

    /// Steps along an axis.
    pub(super) fn extent(&self, axis: usize) -> u64 {
        self.axes[axis].extent as u64
    }

    /// The stride of an operand along an axis.
    pub(super) fn stride(&self, axis: usize, operand: usize) -> i64 {
        self.axes[axis].strides[operand] as i64
    }

    pub(super) fn elements(&self) -> u64 {
        self.axes.steps() as u64
    }

    /// The most elements that one access can cover, for `count` elements of an operand that lie
    /// side by side: from an address on, and also `step` bytes further, and after any step along
    /// all axes.
    pub(super) fn widest(&self, operand: usize, (first, step): (u64, i64), count: u64) -> u8 {
        let strides = (0..self.rank()).map(|axis| self.stride(axis, operand).cast_unsigned());
        let bits = strides.fold(first | step.cast_unsigned() | ACCESS_BYTES, |bits, stride| bits | stride);
        let elements = (1 << bits.trailing_zeros()) / self.kinds[operand].len_bytes().cast_unsigned();
        // The power of two in the count.
        u8::try_from(elements.min(1 << count.trailing_zeros()).max(1)).unwrap_or(1)
    }

    /// Makes each step along an axis `times` as long. The extent is a multiple of `times`.
    pub(super) fn lengthen(&mut self, axis: usize, times: u64) {
        let times = usize::try_from(times).unwrap_or(usize::MAX);
        self.axes[axis] = self.axes[axis].every(times);
        self.axes[axis].extent /= times;
    }

    /// Passes on the operands of each launch: the whole, unless it is large or has very many axes.
    pub(super) fn for_each_launch<E>(
        mut self,
        scalars: usize,
        submit: &mut impl FnMut(&Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let words = 3 * self.count() + scalars + OTHER_WORDS + self.rank() * (2 + self.count());
        if words > MAX_WORDS && self.rank() > 2 {
            let outermost = self.axes.remove(0);
            for _ in 0..outermost.extent {
                self.clone().for_each_launch(scalars, submit)?;
                advance(&mut self.bases, &outermost);
            }
            return Ok(());
        }
        if self.elements() <= LAUNCH_ELEMENTS {
            return submit(&self);
        }
        // 256 is a multiple of the number of elements that any thread takes at once, so the second
        // half is aligned like the first.
        let (halves, distance) = self.axes.halves(self.axes.longest().unwrap_or(0), 256);
        for axes in halves {
            self.axes = axes;
            self.clone().for_each_launch(scalars, submit)?;
            advance(&mut self.bases, &distance);
        }
        Ok(())
    }
}

/// An axis, in numbers of the device.
pub(super) fn axis(extent: u64, strides: impl IntoIterator<Item = i64>) -> Strided {
    let strides = strides.into_iter().map(|stride| isize::try_from(stride).unwrap_or(isize::MAX));
    Strided { extent: usize::try_from(extent).unwrap_or(usize::MAX), strides: strides.collect() }
}

/// Moves addresses by the strides of an axis.
pub(super) fn advance(bases: &mut [u64], by: &Strided) {
    for (base, &stride) in bases.iter_mut().zip(&by.strides) {
        *base = base.wrapping_add_signed(stride as i64);
    }
}

#[cfg(test)]
mod tests {
    use devarray::{
        Order,
        function::primitive::{Binary, ProgramBuilder, Unary},
    };

    use super::*;

    /// `x0` plus the position along an axis, of `u8`.
    fn program(axis: u8) -> Program {
        let mut b = ProgramBuilder::new(&[ElementType::U8], &[]);
        let (x, at) = (b.push(Instruction::Input(0)), b.push(Instruction::Position(axis)));
        let at = b.unary(Unary::Wrap, at);
        let sum = b.binary(Binary::Add, x, at);
        b.finish(sum, ElementType::U8)
    }

    fn operands(axis: u8, result: &Layout, input: &Layout) -> MapOperands {
        let operand = |at: Option<usize>| Some(if at.is_some() { (1 << 40, input) } else { (0, result) });
        MapOperands::new(&program(axis), operand).unwrap()
    }

    /// The operands of each launch, each small enough.
    fn launches(operands: MapOperands) -> Vec<MapOperands> {
        let mut all = Vec::new();
        let kept: Result<(), ()> = operands.for_each_launch(0, &mut |launch| {
            assert!(launch.elements() <= LAUNCH_ELEMENTS);
            all.push(launch.clone());
            Ok(())
        });
        assert_eq!(kept, Ok(()));
        all
    }

    #[test]
    fn axes_are_merged_where_all_operands_agree() {
        let shape = [6, 5, 1, 4];
        let dense = Layout::contiguous(&shape, Order::C).unwrap();
        let axes = |axes: &[(usize, [isize; 3])]| -> Nest<Strided> {
            axes.iter().map(|&(extent, strides)| Strided { extent, strides: strides[..].into() }).collect()
        };
        let flat = operands(2, &dense, &dense);
        // The position along an axis of extent 1 is 0.
        assert_eq!(flat.axes, axes(&[(120, [1, 1, 0])]));
        let rows = operands(3, &dense, &dense);
        assert_eq!(rows.axes, axes(&[(30, [4, 4, 0]), (4, [1, 1, 1])]));
        let reversed = Layout::new(&shape, &[-20, -4, 0, -1], 119).unwrap();
        let flipped = operands(2, &reversed, &reversed);
        assert_eq!((flipped.bases, flipped.axes), (vec![0, 1 << 40, 0], axes(&[(120, [1, 1, 0])])));
        let against = operands(0, &reversed, &dense);
        assert_eq!(against.axes, axes(&[(6, [20, -20, -1]), (20, [1, -1, 0])]));
        assert_eq!(against.bases, [0, (1 << 40) + 119, 5]);
    }

    #[test]
    fn large_results_come_in_parts() {
        let (rows, len) = (3_usize, (1_usize << 31) + 1_000);
        let dense = Layout::contiguous(&[rows, len], Order::C).unwrap();
        let mut launches = launches(operands(1, &dense, &dense));
        launches.sort_by_key(|launch| launch.bases[0]);
        let mut next = 0;
        for launch in &launches {
            // The parts cover all rows. Each begins where the one before ends, which is also its
            // position.
            assert_eq!(
                (launch.extent(0), launch.bases.as_slice()),
                (3, [next, (1 << 40) + next, next].as_slice())
            );
            assert_eq!(*launch.axes[0].strides, [len.cast_signed(), len.cast_signed(), 0]);
            assert_eq!(*launch.axes[1].strides, [1, 1, 1]);
            next += launch.extent(1);
        }
        assert_eq!(next, len as u64);
    }

    #[test]
    fn many_axes_of_many_inputs_come_in_parts() {
        let mut b = ProgramBuilder::new(&[ElementType::U8; 16], &[]);
        let inputs: Vec<_> = (0..16).map(|at| b.push(Instruction::Input(at))).collect();
        let sum = inputs.into_iter().reduce(|sum, x| b.binary(Binary::Add, sum, x)).unwrap();
        let program = b.finish(sum, ElementType::U8);
        let shape = [2; 30];
        let c = Layout::contiguous(&shape, Order::C).unwrap();
        let f = Layout::contiguous(&shape, Order::F).unwrap();
        let whole = |f| {
            MapOperands::new(&program, |at| {
                Some((at.map_or(0, |_| 1 << 40), if at.is_some() { f } else { &c }))
            })
        };
        let launches = launches(whole(&f).unwrap());
        assert_eq!(launches.len(), 128);
        let mut starts: Vec<u64> = launches.iter().map(|launch| launch.bases[0]).collect();
        starts.dedup();
        assert_eq!(starts, (0..128).map(|at| at << 23).collect::<Vec<_>>());
        for launch in &launches {
            assert_eq!(
                (launch.rank(), launch.bases[1]),
                (23, (1 << 40) + (launch.bases[0] >> 23).reverse_bits() / (1 << 57))
            );
            assert!(crate::function::families::choose(&program, launch, &[]).is_some());
        }
        // The twin: with one axis more in a launch, the parameter is too long.
        assert!(crate::function::families::choose(&program, &whole(&f).unwrap(), &[]).is_none());
    }
}
