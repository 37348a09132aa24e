//! The elements of a thread's lanes: their addresses, and their sum.

use devarray::function::Combine;

use super::Thread;
use crate::function::{
    body::Body,
    class::Access,
    reduce::{
        combining::{Partial, assign},
        kernel::Division,
        kernel_code::KernelCode,
    },
    text::{Bank, Reg, Text},
};

/// The addresses from which a thread loads.
pub(super) enum Addresses {
    /// Along one axis the addresses are evenly spaced from lane to lane of the thread, and from
    /// element to element of a lane. An operand that does not move has no stride.
    Even { of_lane: Vec<Reg>, lane_strides: Vec<Option<Reg>>, step_strides: Vec<Option<Reg>> },
    /// The addresses of the row, from which the address of each element is computed.
    Uneven(Vec<Reg>),
}

impl Addresses {
    pub(super) fn new(
        text: &mut Text,
        code: &KernelCode<'_>,
        rows: &[Reg],
        place: &Thread,
        near: usize,
    ) -> Self {
        if code.words.reduced != 1 {
            return Self::Uneven(rows.to_vec());
        }
        let position = code.position(text, place.start, place.lane);
        let of_lane = code.along(text, rows, position);
        let of_lane = copied(text, &of_lane);
        let strides = (0..rows.len()).map(|operand| {
            if operand == 0 || code.class.operands[operand].1 == Access::Uniform {
                return (None, None);
            }
            let stride = text.parameter(Bank::B64, code.words.along(operand));
            let mut times = |by: usize| Some(text.set64("mul.lo.s64", format_args!("{stride}, {by}")));
            (times(near), times(Combine::LANES))
        });
        let (lane_strides, step_strides) = strides.unzip();
        Self::Even { of_lane, lane_strides, step_strides }
    }

    /// Moves to other lanes of the thread.
    pub(super) fn advance(&self, text: &mut Text, lanes: usize) {
        if let Self::Even { of_lane, lane_strides, .. } = self {
            for (address, stride) in of_lane.iter().zip(lane_strides) {
                if let Some(stride) = stride {
                    text.line(format_args!("mad.lo.s64 {address}, {stride}, {lanes}, {address}"));
                }
            }
        }
    }
}

/// Copies of registers, which may be changed.
fn copied(text: &mut Text, from: &[Reg]) -> Vec<Reg> {
    from.iter().map(|from| text.set64("mov.b64", format_args!("{from}"))).collect()
}

/// Each address, moved by a stride.
fn further(text: &mut Text, addresses: &[Reg], strides: &[Option<Reg>]) -> Vec<Reg> {
    let moved = |(&address, stride): (&Reg, &Option<Reg>)| match stride {
        Some(stride) => text.set64("add.s64", format_args!("{address}, {stride}")),
        None => address,
    };
    addresses.iter().zip(strides).map(moved).collect()
}

/// Adds the elements of some of a thread's lanes.
pub(super) fn add(
    text: &mut Text,
    code: &KernelCode<'_>,
    body: Option<&Body<'_>>,
    (from, place, lane): (&Addresses, &Thread, Reg),
    sums: &[Vec<Partial>],
    division: Division,
) {
    let Division { steps, .. } = division;
    let near = division.near();
    let local = text.set32("mov.b32", format_args!("{lane}"));
    let moving = match from {
        Addresses::Even { of_lane, .. } => copied(text, of_lane),
        Addresses::Uneven(_) => Vec::new(),
    };
    let adding = Adding { code, body, from, place, division, sums, local, moving };
    let (again, one_by_one, next) = (text.label(), text.label(), text.label());
    text.place(&again);
    let behind = (steps - 1) * Combine::LANES + (sums.len() - 1) * near;
    let last = text.set32("add.u32", format_args!("{local}, {behind}"));
    text.branch_if("setp.ge.u32", format_args!("{last}, {}", place.len), &one_by_one);
    adding.steps(text, steps, false);
    text.line(format_args!("bra {next}"));
    text.place(&one_by_one);
    adding.steps(text, 1, true);
    text.place(&next);
    if !division.single {
        text.branch_if("setp.lt.u32", format_args!("{local}, {}", place.len), &again);
    }
}

/// Elements that are added to lanes.
struct Adding<'a> {
    code: &'a KernelCode<'a>,
    body: Option<&'a Body<'a>>,
    from: &'a Addresses,
    place: &'a Thread,
    division: Division,
    sums: &'a [Vec<Partial>],
    /// The next element of the first lane, and its address.
    local: Reg,
    moving: Vec<Reg>,
}

impl Adding<'_> {
    /// Adds some elements of each lane. If `guarded`, some of them may be missing.
    fn steps(&self, text: &mut Text, steps: usize, guarded: bool) {
        let Self { code, from, place, division, sums, local, .. } = *self;
        let near = division.near();
        let mut loaded = Vec::with_capacity(steps * sums.len());
        let mut lanes = self.moving.clone();
        for step in 0..steps {
            let mut addresses = lanes.clone();
            for nth in 0..sums.len() {
                let behind = step * Combine::LANES + nth * near;
                let at = text.set32("add.u32", format_args!("{local}, {behind}"));
                let there = guarded.then(|| text.test("setp.lt.u32", format_args!("{at}, {}", place.len)));
                match from {
                    Addresses::Uneven(rows) => {
                        let position = code.position(text, place.start, at);
                        addresses = code.along(text, rows, position);
                    }
                    Addresses::Even { lane_strides, .. } if nth > 0 => {
                        addresses = further(text, &addresses, lane_strides);
                    }
                    Addresses::Even { .. } => {}
                }
                loaded.push((nth, at, there, code.several(text, &addresses, division.vector, there)));
            }
            if let Addresses::Even { step_strides, .. } = from {
                lanes = further(text, &lanes, step_strides);
            }
        }
        for (nth, at, there, elements) in &loaded {
            for (column, &sum) in sums[*nth].iter().enumerate() {
                let partial = code.partial(text, self.body, elements, column, Some(*at));
                // The only element of a lane is its sum.
                let both = if division.single { partial } else { code.added(text, sum, partial) };
                text.guard(*there);
                assign(text, sum, both);
                text.guard(None);
            }
        }
        if division.single {
            return;
        }
        for (address, next) in self.moving.iter().zip(lanes) {
            text.line(format_args!("mov.b64 {address}, {next}"));
        }
        text.line(format_args!("add.u32 {local}, {local}, {}", steps * Combine::LANES));
    }
}
