//! The fake driver's variables of modules, and their laws on it.
#![allow(unsafe_code)] // stands for the driver behind its C interface; loads images

use std::ffi::{CStr, c_char};

use devarray::{Context, Module};
use devarray_cuda::{
    CudaDevice,
    driver::{Function, Table, sys},
};
use sys::{CUdeviceptr, CUmodule};

use super::{
    driver::put,
    state::{Block, Fake, State, within},
    symbol_laws as laws,
};

/// The offset of a variable in the block of its own: not one at which a buffer may start.
const LEAD: usize = 80;

/// Memory for the variables that the text of a module declares.
pub(crate) fn declare(state: &mut State, module: usize, text: &str) {
    for line in text.lines().filter_map(|line| line.strip_prefix(".visible .const .align 8 .b8 ")) {
        let (name, bytes) = line.strip_suffix("];").unwrap().split_once('[').unwrap();
        let len_bytes: usize = bytes.parse().unwrap();
        let mut block = Block::zeroed(LEAD + len_bytes);
        let address = block.address();
        state.memory.insert(address, block);
        state.globals.insert((module, name.to_owned()), (address + LEAD, len_bytes));
    }
}

/// The variables go with their module.
pub(crate) fn forget(state: &mut State, module: usize) {
    let State { globals, memory, .. } = state;
    globals.retain(|(of, _), (address, _)| {
        let stays = *of != module;
        if !stays {
            memory.remove(&(*address - LEAD));
        }
        stays
    });
}

unsafe extern "C" fn global(
    at: *mut CUdeviceptr,
    len_bytes: *mut usize,
    module: CUmodule,
    name: *const c_char,
) -> i32 {
    // SAFETY: the driver asks for text that ends with a zero.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap().to_owned();
    within(Function::ModuleGetGlobal, |state| match state.globals.get(&(module.addr(), name)) {
        Some(&(address, len)) => put(len_bytes, len) + put(at, address as u64),
        None => 500,
    })
}

pub(crate) fn table(mut table: Table) -> Table {
    table.module_get_global = Some(global);
    table
}

pub(crate) const IMAGE: &[u8] =
    b"// A module.\n.visible .const .align 8 .b8 scale[16];\n.visible .const .align 8 .b8 table[4096];\n";

fn with_module(program: impl Fn(&Context<CudaDevice>, Module<CudaDevice>)) {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    // SAFETY: a whole image.
    let module = unsafe { context.load_module(IMAGE) }.unwrap();
    program(&context, module);
    assert_eq!(context.take_errors(), []);
    drop(context);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

#[test]
fn variables_keep_their_laws() {
    with_module(|context, module| {
        laws::written_and_read(context, &module);
        laws::sizes_are_checked(context, &module);
        laws::names_and_elements_are_checked(context, &module);
        laws::the_module_goes_last(context, module);
    });
}

#[test]
fn a_zero_at_the_end_is_as_none_and_one_inside_is_refused() {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let ended: Vec<u8> = IMAGE.iter().copied().chain([0]).collect();
    // SAFETY: a whole image.
    let module = unsafe { context.load_module(&ended) }.unwrap();
    assert!(!module.raw().raw().is_null());
    let calls = context.device().driver().calls(Function::ModuleLoadData);
    // SAFETY: refused before the driver sees it.
    assert!(unsafe { context.load_module(b"// half\0of it") }.is_err());
    assert_eq!(context.device().driver().calls(Function::ModuleLoadData), calls);
}
