//! Steps: each is a compiled loop, with the slots that it reads and writes.
//!
//! A value is in a slot of a block, as wide as its type; or in an input, if that is contiguous; or
//! in the result. Halves are held as `f32`, and a bool as a byte of 0 or 1.

use std::{collections::HashMap, fmt};

use crate::ElementType;

use super::{
    last::Last,
    machine::{Compiled, LINE_BYTES, Machine},
};

/// The most elements of a block, and the least.
pub(super) const MAX_BLOCK: usize = 1024;
const MIN_BLOCK: usize = 256;
/// The most elements that an input may repeat over and over in its slot.
pub(super) const MOST_REPEATED: usize = 256;
/// Room for such elements after the block. It is a page, so that the slots' positions in their pages do
/// not depend on it.
const REPEATED_BYTES: usize = 4096;
/// The most bytes of all slots if a block has more than the least elements. They leave room in the
/// first cache for operands.
const BLOCK_BYTES: usize = 24 << 10;
/// The gap between slots, in whole lines.
const SKEW_BYTES: usize = 5 * LINE_BYTES;

/// A value of a block, by its number, and its element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    number: usize,
    pub(super) of: ElementType,
}

impl Value {
    /// Takes the bits of the value as another type.
    pub(super) fn as_type(self, of: ElementType) -> Self {
        Self { of, ..self }
    }
}

/// Where the elements of a value come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    Input(usize),
    /// One constant for all elements, by its bits.
    Constant(u64),
    Scalar(usize),
    /// The position along an axis, as `i64`.
    Position(usize),
    Step,
}

/// Writes the steps of a program.
pub(super) struct Writer {
    pub(super) machine: Machine,
    values: Vec<(Origin, ElementType)>,
    known: HashMap<(Origin, ElementType), usize>,
    steps: Vec<Step>,
    /// The last step's loop for a result that goes past the caches, if there is one.
    past: Option<Compiled>,
}

/// One compiled loop. Operands are numbers of values at first, and later of places.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) compiled: Compiled,
    pub(super) operands: [usize; 3],
    pub(super) arity: usize,
    pub(super) out: usize,
    /// The computation that a last loop could do in place of this step, and the type of its
    /// elements.
    pub(super) last: Option<(Last, ElementType)>,
}

impl Writer {
    pub(super) fn new(machine: Machine) -> Self {
        Self { machine, values: Vec::new(), known: HashMap::new(), steps: Vec::new(), past: None }
    }

    /// Adds a value that no step computes.
    pub(super) fn value(&mut self, origin: Origin, of: ElementType) -> Value {
        let next = self.values.len();
        let number = match origin {
            Origin::Step => next,
            _ => *self.known.entry((origin, of)).or_insert(next),
        };
        if number == next {
            self.values.push((origin, of));
        }
        Value { number, of }
    }

    /// Whether a value is the same for all elements.
    pub(super) fn is_fixed(&self, value: Value) -> bool {
        matches!(self.values[value.number].0, Origin::Constant(_) | Origin::Scalar(_))
    }

    /// The step that computed a value, if it is the latest step.
    fn latest(&mut self, value: Value) -> Option<&mut Step> {
        let is_latest = value.number + 1 == self.values.len();
        self.steps.last_mut().filter(|step| is_latest && step.out == value.number)
    }

    /// Notes what a last loop would compute, if this value is stored.
    pub(super) fn note_last(&mut self, value: Value, last: Last) {
        if let Some(step) = self.latest(value) {
            step.last = Some((last, value.of));
        }
    }

    /// The note about a value, unless its bits are taken as another type.
    pub(super) fn noted_last(&mut self, value: Value) -> Option<Last> {
        let noted = self.latest(value)?.last;
        noted.filter(|&(_, of)| of == value.of).map(|(last, _)| last)
    }

    /// Removes the latest step, which computed a value that is not needed, and returns its
    /// operands.
    pub(super) fn take_back(&mut self, value: Value) -> Option<[Value; 2]> {
        self.latest(value)?;
        let step = self.steps.pop()?;
        self.values.pop();
        let [a, b, _] = step.operands.map(|number| Value { number, of: value.of });
        Some([a, b])
    }

    pub(super) fn step(&mut self, compiled: Compiled, operands: &[Value], of: ElementType) -> Value {
        let out = self.value(Origin::Step, of);
        let number = |at: usize| operands.get(at).or(operands.first()).map_or(0, |value| value.number);
        let operands_of = [number(0), number(1), number(2)];
        let arity = operands.len();
        self.steps.push(Step { compiled, operands: operands_of, arity, out: out.number, last: None });
        out
    }

    /// Adds the last step, with a kernel that stores as usual and one that stores past the caches.
    pub(super) fn last_step(
        &mut self,
        [compiled, past]: [Compiled; 2],
        operands: &[Value],
        of: ElementType,
    ) -> Value {
        self.past = Some(past);
        self.step(compiled, operands, of)
    }

    /// Finishes the code, which computes a value and stores it as `result_type`.
    pub(super) fn finish(
        self,
        inputs: &[ElementType],
        scalars: &[ElementType],
        result: Value,
        result_type: ElementType,
    ) -> Code {
        let Self { values, mut steps, past, .. } = self;
        let mut last_use = vec![None; values.len()];
        for (at, step) in steps.iter().enumerate() {
            step.operands[..step.arity].iter().for_each(|&operand| last_use[operand] = Some(at));
        }
        last_use[result.number] = Some(usize::MAX);
        // Free slots of each width; and the width of each slot.
        let mut free: [Vec<usize>; 9] = Default::default();
        let (mut widths, mut places) = (Vec::new(), vec![usize::MAX; values.len()]);
        let mut take = |width: usize, free: &mut [Vec<usize>; 9]| {
            free[width].pop().unwrap_or_else(|| {
                widths.push(width);
                widths.len() - 1
            })
        };
        let (mut fixed, mut positions) = (Vec::new(), Vec::new());
        // Slots for elements gathered from inputs that do not lie side by side.
        let gathered: Vec<usize> = inputs.iter().map(|of| take(of.len_bytes(), &mut free)).collect();
        for (number, &(origin, of)) in values.iter().enumerate() {
            if last_use[number].is_none() || matches!(origin, Origin::Input(_) | Origin::Step) {
                continue;
            }
            let place = take(of.len_bytes(), &mut free);
            places[number] = place;
            match origin {
                Origin::Position(axis) => positions.push((axis, place)),
                _ => fixed.push((origin, place, of.len_bytes())),
            }
        }
        for (at, step) in steps.iter().enumerate() {
            let of = values[step.out].1;
            places[step.out] = take(of.len_bytes(), &mut free);
            let mut ended: Vec<usize> = step.operands[..step.arity].to_vec();
            ended.sort_unstable();
            ended.dedup();
            for operand in ended {
                let (origin, of) = values[operand];
                if origin == Origin::Step && last_use[operand] == Some(at) {
                    free[of.len_bytes()].push(places[operand]);
                }
            }
        }
        // The numbers after the slots' are the inputs'.
        let slots = widths.len();
        for (number, &(origin, _)) in values.iter().enumerate() {
            if let Origin::Input(input) = origin {
                places[number] = slots + input;
            }
        }
        let is_direct = steps.last().is_some_and(|last| last.out == result.number);
        for step in &mut steps {
            step.operands = step.operands.map(|operand| places.get(operand).copied().unwrap_or(0));
            step.out = places[step.out];
        }
        // These slots do not count: slots of inputs are seldom used, and slots of fixed values
        // seldom beyond one line.
        let mut width: usize = widths.iter().skip(inputs.len()).sum();
        width -= fixed.iter().map(|&(_, _, width)| width).sum::<usize>();
        let fits = (BLOCK_BYTES / width.max(1)).clamp(MIN_BLOCK, MAX_BLOCK);
        let block_len = 1 << fits.ilog2();
        let mut bytes = 0;
        let offsets = widths.iter().enumerate().map(|(slot, width)| {
            let at = bytes;
            bytes += (width * block_len).next_multiple_of(LINE_BYTES);
            if slot < inputs.len() {
                bytes += REPEATED_BYTES;
            }
            // Slots that begin at the same position of their pages would slow each other down.
            bytes += SKEW_BYTES;
            at
        });
        Code {
            offsets: offsets.collect(),
            slot_bytes: bytes,
            block_len,
            inputs: inputs.to_vec(),
            scalars: scalars.to_vec(),
            gathered,
            fixed,
            positions,
            steps,
            result: places[result.number],
            is_direct,
            past,
            result_type,
        }
    }
}

/// Steps whose values have places: the number of a slot, or, after all slots, of an input.
pub(super) struct Code {
    /// Where each slot starts.
    pub(super) offsets: Vec<usize>,
    pub(super) slot_bytes: usize,
    pub(super) block_len: usize,
    pub(super) inputs: Vec<ElementType>,
    pub(super) scalars: Vec<ElementType>,
    /// The slot of each input that is gathered because its elements do not lie side by side.
    pub(super) gathered: Vec<usize>,
    /// Slots that are the same in every block: what they hold, their number, and the width of their
    /// elements.
    pub(super) fixed: Vec<(Origin, usize, usize)>,
    /// Axes, and the slots that hold the positions along them.
    pub(super) positions: Vec<(usize, usize)>,
    pub(super) steps: Vec<Step>,
    pub(super) result: usize,
    /// Whether the last step computes the result, so that it may write the result in place.
    pub(super) is_direct: bool,
    /// The loop of the last step for a result that goes past the caches.
    pub(super) past: Option<Compiled>,
    pub(super) result_type: ElementType,
}

/// Prints its length.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (steps, slots) = (self.steps.len(), self.offsets.len());
        write!(f, "Code({steps} steps, {slots} slots, blocks of {})", self.block_len)
    }
}
