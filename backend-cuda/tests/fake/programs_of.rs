//! Images of programs on the fake: their functions, questions about them, and launches.
#![allow(unsafe_code)] // stands for the driver behind its C interface

use std::{
    collections::HashMap,
    ffi::{c_int, c_uint, c_void},
    slice,
    sync::Arc,
};

use devarray_cuda::driver::{Function, LaunchConfig, Table, sys::CUfunction};

use super::{
    driver::put,
    state::{INVALID, State, within},
};

/// The functions of images of programs, and what was launched.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    texts: HashMap<usize, String>,
    /// By handle: the module, and the bytes of each parameter.
    functions: HashMap<usize, (usize, Vec<usize>)>,
    pub(crate) launched: Vec<Launched>,
    /// Dynamic shared memory that functions were allowed.
    pub(crate) allowed: Vec<c_int>,
    /// Launches, if they are only counted.
    pub(crate) counted: usize,
    pub(crate) counts_only: bool,
}

/// One launch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Launched {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_bytes: c_uint,
    pub(crate) parameters: Vec<Vec<u8>>,
    pub(crate) attributes: Vec<(c_uint, [c_uint; 3])>,
}

/// Takes a text for an image of a program, if it is one.
pub(crate) fn load(state: &mut State, text: &str) -> Option<usize> {
    if !text.starts_with("// An image of a program") {
        return None;
    }
    let module = state.create("module");
    super::symbols::declare(state, module, text);
    state.programs.texts.insert(module, text.to_owned());
    Some(module)
}

/// The function of an image of a program; `None` if the module is no such image.
pub(crate) fn function(state: &mut State, module: usize, name: &str) -> Option<Result<usize, i32>> {
    let text = state.programs.texts.get(&module)?;
    let Some((_, rest)) = text.split_once(&format!(".entry {name}(")) else { return Some(Err(500)) };
    let list = &rest[..rest.find(')').unwrap()];
    let size = |parameter: &str| match parameter.trim() {
        wide if wide.starts_with(".param .u64") => 8,
        word if word.starts_with(".param .u32") => 4,
        bytes => bytes.split(['[', ']']).nth(1).unwrap().parse().unwrap(),
    };
    let sizes = list.split(',').map(size).collect();
    state.next += 0x10;
    state.programs.functions.insert(state.next, (module, sizes));
    Some(Ok(state.next))
}

/// The functions go with their module.
pub(crate) fn forget(state: &mut State, module: usize) {
    state.programs.texts.remove(&module);
    state.programs.functions.retain(|_, (of, _)| *of != module);
}

/// Notes a launch of such a function; `None` if it is none.
pub(crate) fn launch(
    state: &mut State,
    function: CUfunction,
    (grid, block, shared_bytes): ([c_uint; 3], [c_uint; 3], c_uint),
    parameters: *mut *mut c_void,
    attributes: Vec<(c_uint, [c_uint; 3])>,
) -> Option<i32> {
    let (_, sizes) = state.programs.functions.get(&function.addr())?;
    let read = |(at, &len): (usize, &usize)| {
        // SAFETY: as many as the entry has.
        let start = unsafe { parameters.wrapping_add(at).read() }.cast::<u8>();
        // SAFETY: of the size that the entry takes.
        unsafe { slice::from_raw_parts(start, len) }.to_vec()
    };
    let parameters = sizes.iter().enumerate().map(read).collect();
    if state.programs.counts_only {
        state.programs.counted += 1;
    } else {
        state.programs.launched.push(Launched { grid, block, shared_bytes, parameters, attributes });
    }
    Some(0)
}

/// The wishes of a launch with attributes, of such a function.
pub(crate) fn launch_ex(
    state: &mut State,
    config: &LaunchConfig,
    function: CUfunction,
    parameters: *mut *mut c_void,
) -> Option<i32> {
    // SAFETY: there are that many.
    let attributes = unsafe { slice::from_raw_parts(config.attributes, config.attribute_count as usize) };
    let attributes = attributes.iter().map(|a| (a.id, [a.value[0], a.value[1], a.value[2]])).collect();
    launch(state, function, (config.grid, config.block, config.shared_bytes), parameters, attributes)
}

fn known(state: &State, function: CUfunction) -> bool {
    state.programs.functions.contains_key(&function.addr())
}

/// 512 threads, 2 bytes of shared memory, and 1 byte of dynamic shared memory unless more is
/// allowed.
unsafe extern "C" fn attribute(at: *mut c_int, what: c_uint, function: CUfunction) -> i32 {
    within(Function::FuncGetAttribute, |state| match what {
        _ if !known(state, function) => 400,
        0 => put(at, 512),
        1 => put(at, 2),
        8 => put(at, 1),
        _ => INVALID,
    })
}

unsafe extern "C" fn allow(function: CUfunction, what: c_uint, value: c_int) -> i32 {
    within(Function::FuncSetAttribute, |state| {
        let text = state.functions.get(&function.addr()).map(|(_, text)| Arc::clone(text));
        let of_text = text.as_ref().is_some_and(|text| text.has_dynamic);
        let declared = text.map_or(0, |text| text.shared_bytes);
        // All together is what a block can have.
        let fits = i32::try_from(declared).is_ok_and(|declared| declared + value <= state.block_bytes);
        if !(known(state, function) || of_text) || what != 8 || !fits {
            return INVALID;
        }
        state.programs.allowed.push(value);
        if of_text {
            state.dynamic_bytes.insert(function.addr(), value.cast_unsigned());
        }
        0
    })
}

unsafe extern "C" fn parameter(function: CUfunction, index: usize, _: *mut usize, len: *mut usize) -> i32 {
    within(Function::FuncGetParamInfo, |state| {
        let Some((_, sizes)) = state.programs.functions.get(&function.addr()) else { return 400 };
        sizes.get(index).map_or(INVALID, |&size| put(len, size))
    })
}

unsafe extern "C" fn occupancy(blocks: *mut c_int, function: CUfunction, _: c_int, _: usize) -> i32 {
    let function_known = |state: &mut State| if known(state, function) { put(blocks, 2) } else { 400 };
    within(Function::OccupancyMaxActiveBlocks, function_known)
}

pub(crate) fn table(mut table: Table) -> Table {
    table.func_get_attribute = Some(attribute);
    table.func_set_attribute = Some(allow);
    table.func_get_param_info = Some(parameter);
    table.occupancy_max_active_blocks = Some(occupancy);
    table
}
