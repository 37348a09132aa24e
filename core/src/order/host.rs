//! Runs calls on memory that the host reaches.
#![allow(unsafe_code)] // makes calls on memory that its caller vouches for

use devarray_order::{Call, IndexFault, Outcome, Workers, WrongIndex, execute};

use super::operation_of;
use crate::{
    function::{
        ElementType,
        interpreter::{InputElements, ResultElements},
    },
    gather::IndexError,
    layout::axis_index,
};

/// The memory of a call. Each side is given by the address of position 0 of its layout. Sides without
/// elements may have any address.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "made by backends, of all that there is")]
pub struct OrderMemory<'a> {
    /// The inputs, with their types.
    pub inputs: &'a [(ElementType, InputElements<'a>)],
    /// The results, by their numbers; unwanted ones are `None`.
    pub results: &'a [Option<ResultElements<'a>>],
    /// The address of the count, as one `i64` of any alignment.
    pub count: Option<*mut u8>,
}

/// Makes a [`Call`] by the rules of [`order`](crate::order). Returns the first index without a
/// place.
///
/// Blocks until it is done. `workers` share the work, and the bits do not depend on them.
///
/// # Panics
///
/// The call does not take these inputs, or the results have another number or shape.
///
/// # Safety
///
/// The elements of the inputs may be read, the elements of the results and the count may be written,
/// and meanwhile no other thread writes inputs or touches results. Inputs are initialized. Inputs
/// share no byte with results, and results share none with each other. Only x of [`Call::Put`] may be
/// the result, at the same address in the same layout.
pub unsafe fn order_on_host(
    call: &Call,
    memory: OrderMemory<'_>,
    workers: &dyn Workers,
) -> Option<IndexError> {
    // SAFETY: as the caller promises
    let Outcome { count, wrong_index } = unsafe { execute(call, memory.inputs, memory.results, workers) };
    if let Some(place) = memory.count {
        // SAFETY: as the caller promises; at any address
        unsafe { place.cast::<i64>().write_unaligned(count.cast_signed() as i64) };
    }
    let wrong = wrong_index.or_else(|| without_room(call, memory, count))?;
    let layout = memory.inputs[0].1.layout;
    let axis = match *call {
        Call::Put { axis, .. } => axis_index(axis, layout.rank()).ok(),
        Call::BinCount { .. } => None,
        _ => Some(0),
    };
    let WrongIndex { fault, position, index, extent } = wrong;
    Some(IndexError {
        operation: operation_of(call)?,
        fault,
        axis,
        position: position as u64,
        value: index,
        bound: extent as u64,
    })
}

/// The first row without a place, if the results are counted.
fn without_room(call: &Call, memory: OrderMemory<'_>, count: usize) -> Option<WrongIndex> {
    let counted = |number: usize| match call {
        Call::Unique => number != 2,
        Call::NonZero => true,
        _ => false,
    };
    let rooms = memory.results.iter().enumerate().filter(|(number, _)| counted(*number));
    let room = rooms.filter_map(|(_, result)| result.map(|result| result.layout.shape()[0])).min()?;
    let index = room.cast_signed() as i64;
    (room < count).then_some(WrongIndex { fault: IndexFault::Outside, position: room, index, extent: room })
}
