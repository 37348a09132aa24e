//! A slice of mapped memory outlives it.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(a: MappedArray<u8, MockDevice>) {
    let slice = a.host().unwrap();
    drop(a);
    println!("{}", slice[0]);
}

fn main() {}
