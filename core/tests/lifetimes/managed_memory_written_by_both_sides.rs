//! The host holds managed memory for writing while the device receives it for writing.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &mut ManagedArray<u8, MockDevice>) {
    let slice = a.host_mut().unwrap();
    a.view_mut().fill(stream, 1).unwrap();
    slice[0] = 1;
}

fn main() {}
