//! The elements of a thread's lanes: where they are, and how they are added.

use devarray::function::Combine;

use super::{Division, Place};
use crate::function::{
    body::Body,
    class::Access,
    reduce::{
        combining::{Part, assign},
        site::Site,
    },
    text::{Bank, Reg, Text},
};

/// Where a thread loads from.
pub(super) enum Addresses {
    /// Along one axis addresses go on from lane to lane, and from step to step.
    Even { of_lane: Vec<Reg>, strides: Vec<Option<Strides>> },
    /// Addresses of the row. The address of each element is computed from them.
    Uneven(Vec<Reg>),
}

/// Distances for an operand: from lane to lane of a thread, and from element to element of a lane.
#[derive(Clone, Copy)]
pub(super) struct Strides {
    lane: Reg,
    step: Reg,
}

impl Addresses {
    pub(super) fn new(text: &mut Text, site: &Site<'_>, rows: &[Reg], place: &Place, near: usize) -> Self {
        if site.words.reduced != 1 {
            return Self::Uneven(rows.to_vec());
        }
        let position = site.position(text, place.start, place.lane);
        let of_lane = site.along(text, rows, position);
        let of_lane = copied(text, &of_lane);
        let strides = (0..rows.len())
            .map(|operand| {
                let moves = operand > 0 && site.class.operands[operand].1 != Access::Uniform;
                moves.then(|| {
                    let stride = text.parameter(Bank::B64, site.words.along(operand));
                    let mut times = |by: usize| text.set64("mul.lo.s64", format_args!("{stride}, {by}"));
                    Strides { lane: times(near), step: times(Combine::LANES) }
                })
            })
            .collect();
        Self::Even { of_lane, strides }
    }

    /// Goes on to other lanes of the thread.
    pub(super) fn advance(&self, text: &mut Text, lanes: usize) {
        if let Self::Even { of_lane, strides } = self {
            for (&address, strides) in of_lane.iter().zip(strides) {
                if let Some(Strides { lane, .. }) = strides {
                    text.line(format_args!("mad.lo.s64 {address}, {lane}, {lanes}, {address}"));
                }
            }
        }
    }
}

/// Registers that may be changed.
fn copied(text: &mut Text, from: &[Reg]) -> Vec<Reg> {
    from.iter().map(|from| text.set64("mov.b64", format_args!("{from}"))).collect()
}

/// Each address, moved by a stride.
fn further(
    text: &mut Text,
    addresses: &[Reg],
    strides: &[Option<Strides>],
    which: fn(Strides) -> Reg,
) -> Vec<Reg> {
    let moved = |(&address, strides): (&Reg, &Option<Strides>)| match strides {
        Some(strides) => text.set64("add.s64", format_args!("{address}, {}", which(*strides))),
        None => address,
    };
    addresses.iter().zip(strides).map(moved).collect()
}

/// Adds the elements of some of a thread's lanes.
pub(super) fn add(
    text: &mut Text,
    site: &Site<'_>,
    body: Option<&Body<'_>>,
    (from, place, lane): (&Addresses, &Place, Reg),
    sums: &[Vec<Part>],
    division: Division,
) {
    let Division { steps, .. } = division;
    let near = division.near();
    let local = text.set32("mov.b32", format_args!("{lane}"));
    let moving = match from {
        Addresses::Even { of_lane, .. } => copied(text, of_lane),
        Addresses::Uneven(_) => Vec::new(),
    };
    let adding = Adding { site, body, from, place, division, sums, local, moving };
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
    site: &'a Site<'a>,
    body: Option<&'a Body<'a>>,
    from: &'a Addresses,
    place: &'a Place,
    division: Division,
    sums: &'a [Vec<Part>],
    /// The next element of the first lane, and where it is.
    local: Reg,
    moving: Vec<Reg>,
}

impl Adding<'_> {
    /// Adds some elements of each lane. `guarded`: some of them may be missing.
    fn steps(&self, text: &mut Text, steps: usize, guarded: bool) {
        let Self { site, from, place, division, sums, local, .. } = *self;
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
                        let position = site.position(text, place.start, at);
                        addresses = site.along(text, rows, position);
                    }
                    Addresses::Even { strides, .. } if nth > 0 => {
                        addresses = further(text, &addresses, strides, |strides| strides.lane);
                    }
                    Addresses::Even { .. } => {}
                }
                loaded.push((nth, at, there, site.several(text, &addresses, division.vector, there)));
            }
            if let Addresses::Even { strides, .. } = from {
                lanes = further(text, &lanes, strides, |strides| strides.step);
            }
        }
        for (nth, at, there, elements) in &loaded {
            for (column, &sum) in sums[*nth].iter().enumerate() {
                let part = site.part(text, self.body, elements, column, Some(*at));
                // The only element of a lane is its sum.
                let both = if division.single { part } else { site.added(text, sum, part) };
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
