//! Several copies to one destination at once, as joins and paddings need them. With a launch for
//! each copy, the device would run idle at the end of each launch, and two copies would write parts
//! of one memory sector at different times.

pub(super) mod interleave;
mod pieces;

use std::{ffi::c_void, fmt};

use devarray::copy::{Class, Plan};

use self::interleave::FEW_BYTES;
use super::{
    Addresses,
    params::{InterleaveParams, PiecesParams},
    strided_copy::StridedCopy,
    strided_launch::{LAUNCH_BYTES, StridedLaunch, block},
};

/// Longer contiguous copies are left to the driver.
const MAX_LINEAR_BYTES: usize = 4 << 20;
/// A longer copy gains more from a kernel of its own than the end of its launch costs.
const MAX_PIECE_BYTES: usize = 64 << 20;

/// One copy of several.
#[derive(Debug)]
pub struct Part<'a> {
    pub plan: &'a Plan,
    pub addresses: Addresses,
}

impl Part<'_> {
    /// The copy, if it has any bytes and at most `most`.
    fn copy(&self, most: usize) -> Option<StridedCopy> {
        if self.plan.len_bytes() <= most { StridedCopy::of(self.plan, self.addresses) } else { None }
    }
}

/// The parameter block of a launch for several copies.
#[derive(Clone, PartialEq, Eq)]
pub enum JoinParams {
    Pieces(PiecesParams),
    Interleave(InterleaveParams),
}

impl JoinParams {
    /// Address of the block, valid as long as this value is neither moved nor dropped, and its
    /// size.
    pub fn as_ptr(&self) -> (*const c_void, usize) {
        match self {
            Self::Pieces(params) => block(params),
            Self::Interleave(params) => block(params),
        }
    }
}

impl fmt::Debug for JoinParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinParams({} bytes)", self.as_ptr().1)
    }
}

/// A step of carrying out several copies.
#[derive(Debug)]
pub enum Step<'a> {
    /// The copy of this number, as if it were the only one.
    Alone(usize),
    /// Some copies together.
    Together(&'a StridedLaunch<JoinParams>),
}

/// The steps that execute several copies. They are passed to `submit` one by one, the longest
/// first. No copy touches bytes that another one writes.
///
/// # Errors
///
/// The first error of `submit`; later steps are not handed to it.
pub fn join<E>(parts: &[Part<'_>], mut submit: impl FnMut(Step<'_>) -> Result<(), E>) -> Result<(), E> {
    // A launch counts its elements in 32 bits.
    let every: Option<Vec<_>> = parts.iter().map(|part| part.copy(LAUNCH_BYTES)).collect();
    if let Some(launches) = every.and_then(interleave::select) {
        return launches.iter().try_for_each(|launch| submit(Step::Together(launch)));
    }
    let total_bytes = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.plan.len_bytes()));
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for (number, part) in parts.iter().enumerate() {
        let linear = matches!(part.plan.class(), Class::Linear);
        let most = if linear { MAX_LINEAR_BYTES } else { MAX_PIECE_BYTES };
        let few = part.plan.len_bytes() <= FEW_BYTES.max(total_bytes / 16);
        match part.copy(most).and_then(|copy| pieces::Way::of(copy, few)) {
            Some(way) => together.push((number, way)),
            None => alone.push(number),
        }
    }
    if together.len() < 2 {
        alone.extend(together.drain(..).map(|(number, _)| number));
    }
    alone.into_iter().try_for_each(|number| submit(Step::Alone(number)))?;
    let ways = together.into_iter().map(|(_, way)| way).collect();
    pieces::launches(ways).iter().try_for_each(|launch| submit(Step::Together(launch)))
}
