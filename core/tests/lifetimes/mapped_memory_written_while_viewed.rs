//! The host writes mapped memory while a view could still submit operations.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &mut MappedArray<u8, MockDevice>) {
    let view = a.view();
    a.host_mut().unwrap()[0] = 1;
    view.to_vec(stream).unwrap();
}

fn main() {}
