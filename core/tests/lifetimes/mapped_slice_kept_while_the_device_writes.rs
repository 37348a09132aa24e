//! A slice of mapped memory is read while an operation may write it.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &mut MappedArray<u8, MockDevice>) {
    let slice = a.host().unwrap();
    a.view_mut().fill(stream, 1).unwrap();
    println!("{}", slice[0]);
}

fn main() {}
