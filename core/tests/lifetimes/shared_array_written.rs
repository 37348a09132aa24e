//! A shared array has no writer.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(shared: &mut SharedArray<u8, MockDevice>) {
    shared.view_mut();
}

fn main() {}
