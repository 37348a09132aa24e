//! The fake driver's answers about memory of other code, and the laws of adopted memory on it.
#![allow(unsafe_code)] // stands for the driver behind its C interface

use std::ffi::{c_int, c_void};

use devarray::{Array, Context, Error, Layout, Order};
use devarray_cuda::{
    CudaDevice,
    driver::{Function, Table, sys},
};
use sys::{CUdeviceptr, CUpointer_attribute};

use super::{
    driver::put,
    laws_hold,
    state::{Fake, INVALID, within},
};

unsafe extern "C" fn pointer_attribute(
    at: *mut c_void,
    what: CUpointer_attribute,
    address: CUdeviceptr,
) -> i32 {
    within(Function::PointerGetAttribute, |state| {
        let Some((_, block)) = state.block(usize::try_from(address).unwrap()) else { return INVALID };
        match what {
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => put(at.cast::<c_int>(), block.device),
            _ => INVALID,
        }
    })
}

pub(crate) fn table(mut table: Table) -> Table {
    table.pointer_get_attribute = Some(pointer_attribute);
    table
}

#[test]
fn memory_of_other_code_keeps_its_laws() {
    laws_hold(&devarray_conformance::foreign());
}

#[test]
fn memory_of_another_device_is_refused() {
    let fake = Fake::new();
    let driver = fake.driver();
    let context = |ordinal| Context::new(CudaDevice::open_with(&driver, ordinal).unwrap()).unwrap();
    let (one, two) = (context(0), context(1));
    let (here, there) = (one.stream().unwrap(), two.stream().unwrap());
    let foreign = Array::<u8, _>::zeros(&there, &[64]).unwrap();
    let line = Layout::contiguous(&[64], Order::C).unwrap();
    // SAFETY: nothing is adopted.
    let refused = unsafe { Array::<u8, _>::adopt(&here, foreign.view().address(), &line, ()) }.unwrap_err();
    assert_eq!(refused, Error::DeviceMismatch { backend: "cuda", operation: "adopt" });
    drop((foreign, here, there, one, two));
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}
