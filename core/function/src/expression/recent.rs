//! Remembers the last functions that closures of a thread recorded, and looks them up by their
//! operations.
//!
//! A closure runs again at each call, because it may record another function each time. The new
//! operations are compared with the operations of recent functions. Only a new function is brought to
//! canonical form, hashed and looked up among all functions.
//!
//! It saves time on the host: a call with a closure of one operation takes 0.60 µs instead of 0.87,
//! and with twelve operations 1.16 instead of 2.11 (on CUDA, with a driver that does nothing).

use std::cell::RefCell;

use super::FunctionBuilder;
use crate::{ElementType, Function, FunctionError, Node, Value};

/// The most functions that a thread remembers.
const MOST: usize = 32;
/// The most instructions of a remembered function. A longer one takes longer to compute than to
/// look up.
const MAX_INSTRUCTIONS: usize = 1024;

thread_local! {
    /// The last used function is at the end; the others are in any order.
    static RECENT: RefCell<Vec<Written>> = const { RefCell::new(Vec::new()) };
}

/// The steps that a closure recorded, and the function that they make.
#[derive(Debug)]
struct Written {
    inputs: Vec<ElementType>,
    scalars: Vec<ElementType>,
    nodes: Vec<Node>,
    result: Value,
    function: Function,
}

/// The function that was built.
pub(super) fn function(builder: &FunctionBuilder, result: Value) -> Result<Function, FunctionError> {
    let (inputs, scalars, nodes) = builder.parts();
    let known = RECENT.try_with(|recent| {
        let mut recent = recent.try_borrow_mut().ok()?;
        let is_same = |written: &Written| {
            written.nodes == nodes
                && written.result == result
                && written.inputs == inputs
                && written.scalars == scalars
        };
        let at = recent.iter().rposition(is_same)?;
        let last = recent.len() - 1;
        recent.swap(at, last);
        Some(recent[last].function.clone())
    });
    // If the thread ends, its memory may be gone already.
    if let Ok(Some(function)) = known {
        return Ok(function);
    }
    let function = builder.built(result)?;
    if builder.instructions() <= MAX_INSTRUCTIONS {
        let (inputs, scalars, nodes) = (inputs.to_vec(), scalars.to_vec(), nodes.to_vec());
        let written = Written { inputs, scalars, nodes, result, function: function.clone() };
        let _ = RECENT.try_with(|recent| {
            let Ok(mut recent) = recent.try_borrow_mut() else { return };
            if recent.len() >= MOST {
                recent.swap_remove(0);
            }
            recent.push(written);
        });
    }
    Ok(function)
}
